"""CoreRidge against the normal equations solved anew: columns that come and go, and its draws."""

import copy
import math
from typing import Any

import numpy as np
import pytest

from sparsebandits.estimation import core_ridge
from sparsebandits.estimation.core_ridge import FRESH, CoreRidge
from sparsebandits.estimation.ridge import REFACTOR
from sparsebandits.validation import FloatArray
from tests.estimation.test_ridge import Slow

SIZE = 6
PRIOR = np.array([1.0, 0.3, 2.0, 0.05, 0.3, 0.7])
FREE = np.array([0.0, 0.3, 2.0, 0.05, 0.3, 0.7])
"""The first column is an intercept."""


def sparse_actions(seed: int, n: int, size: int = SIZE, first: int = 0) -> list[FloatArray]:
    """Actions with two or three non-zeros from column `first` on, and 1 before it, (size,) each."""
    rng = np.random.default_rng(seed)
    actions = []
    for _ in range(n):
        action = np.zeros(size)
        chosen = rng.choice(np.arange(first, size), int(rng.integers(2, 4)), replace=False)
        action[chosen] = rng.standard_normal(chosen.size)
        action[:first] = 1.0
        actions.append(action)
    return actions


def rewards_of(actions: list[FloatArray], seed: int, base: float = 0.0) -> list[float]:
    rng = np.random.default_rng(seed)
    theta = np.linspace(-1, 1, actions[0].size)
    return [base + float(x @ theta) + 0.3 * float(rng.standard_normal()) for x in actions]


def add(model: CoreRidge, action: FloatArray, reward: float, *more: Any) -> None:
    """Tell a reward by the non-zeros of its action."""
    places = np.flatnonzero(action)
    model.add(places, action[places], reward, *more)


def filled(prior: FloatArray, seed: int, n: int) -> tuple[CoreRidge, list[FloatArray]]:
    """A model that was told n rewards, and their actions."""
    model = CoreRidge(prior)
    actions = sparse_actions(seed, n, prior.size, first=int(prior[0] == 0))
    for action, reward in zip(actions, rewards_of(actions, seed), strict=True):
        add(model, action, reward)
    return model, actions


def precision_of(model: CoreRidge) -> FloatArray:
    return np.asarray(model.gram + np.diag(model.prior))


def assert_symmetric(model: CoreRidge) -> None:
    for matrix in (model.covariance, model.gram):
        np.testing.assert_array_equal(matrix, matrix.T)


def check(model: CoreRidge, slow: Slow, rtol: float = 1e-9) -> None:
    """Compare every number with the slow version."""
    np.testing.assert_allclose(model.theta, slow.theta, rtol=rtol, atol=1e-11)
    inverse = np.linalg.inv(slow.precision)
    np.testing.assert_allclose(model.covariance, inverse, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(model.gram, slow.design.T @ slow.design, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.response, slow.design.T @ slow.rewards, atol=1e-9)
    assert model.squares == pytest.approx(slow.objective(slow.theta), rel=rtol, abs=1e-12)
    assert model.counts == len(slow.rewards)
    if len(slow.rewards) > 1:
        assert model.noise_scale() == pytest.approx(slow.sigma, rel=1e-8)
    assert_symmetric(model)


# ---------------------------------------------------------------------- the slow version


@pytest.mark.parametrize("prior", [PRIOR, FREE], ids=["ridge", "intercept"])
def test_one_by_one_every_number_is_that_of_the_normal_equations(prior: FloatArray) -> None:
    """With a free column, those of the rewards less the first one."""
    model, slow = CoreRidge(prior), Slow(prior)
    first = int(prior[0] == 0)
    actions = sparse_actions(0, 60, first=first)
    rewards = rewards_of(actions, 1, base=5.0 * first)
    for action, reward in zip(actions, rewards, strict=True):
        add(model, action, reward)
        slow.add(action, reward - first * rewards[0])
        check(model, slow)
    assert model.anchor == first * rewards[0]


def test_rewards_of_one_action_at_once_are_the_same_one_by_one() -> None:
    actions = sparse_actions(2, 12, first=1)
    rng = np.random.default_rng(3)
    together, single = CoreRidge(FREE), CoreRidge(FREE)
    for action in actions:
        rewards = rng.normal(2.0, 1.0, int(rng.integers(1, 9)))
        mean = float(rewards.mean())
        add(together, action, mean, float(rewards.size), float(((rewards - mean) ** 2).sum()))
        for reward in rewards:
            add(single, action, float(reward))
    off = single.anchor - together.anchor  # the intercept is measured from it
    np.testing.assert_allclose(together.theta - off * (np.arange(SIZE) == 0), single.theta)
    np.testing.assert_allclose(together.covariance, single.covariance, rtol=1e-10)
    assert together.squares == pytest.approx(single.squares, rel=1e-11)
    assert together.counts == single.counts
    assert together.noise_scale() == pytest.approx(single.noise_scale(), rel=1e-11)


def test_a_constant_in_every_reward_moves_the_anchor_alone() -> None:
    """By a power of two, which costs no digit, not a bit of anything else changes."""
    actions = sparse_actions(4, 40, first=1)
    rewards = [round(reward * 2**20) / 2**20 for reward in rewards_of(actions, 5)]
    plain, raised = CoreRidge(FREE), CoreRidge(FREE)
    for action, reward in zip(actions, rewards, strict=True):
        add(plain, action, reward)
        add(raised, action, reward + 2.0**20)
    assert raised.anchor == plain.anchor + 2.0**20
    for name, value in plain.state().items():
        if name != "anchor":
            np.testing.assert_array_equal(value, raised.state()[name])


def test_columns_added_late_are_as_if_they_had_been_there() -> None:
    """Past the room for 64 columns, which is made anew."""
    size = 70
    prior = np.random.default_rng(6).uniform(0.1, 2.0, size)
    whole, growing = CoreRidge(prior), CoreRidge(prior[:4])
    actions = []
    for known in (4, 10, 64, 65, 70):
        growing.grow(prior[growing.size : known])
        for action in sparse_actions(known, 30, known):
            actions.append(np.append(action, np.zeros(size - known)))
            reward = float(actions[-1].sum())
            add(whole, actions[-1], reward)
            add(growing, action, reward)
    for name in ("theta", "covariance", "gram", "response", "prior"):
        np.testing.assert_allclose(getattr(growing, name), getattr(whole, name), atol=1e-13)
    # Untouched columns cancel: each has as much left over as it takes up.
    assert growing.noise_scale() == pytest.approx(whole.noise_scale(), rel=1e-12)


def test_the_action_zero_teaches_the_noise_alone() -> None:
    model = CoreRidge(PRIOR)
    for reward in (3.0, -4.0):
        add(model, np.zeros(SIZE), reward)
    assert not model.theta.any()
    assert model.noise_scale() == pytest.approx(math.sqrt(25 / 2))


def test_rewards_may_come_before_any_column() -> None:
    model = CoreRidge(np.zeros(0))
    add(model, np.zeros(0), 3.0)
    assert model.agrees()
    model.grow(np.ones(2))
    add(model, np.ones(2), 3.0)
    np.testing.assert_allclose(model.theta, [1.0, 1.0])
    assert model.counts == 2


def test_beliefs_are_those_of_the_covariance() -> None:
    model, _ = filled(FREE, 7, 30)
    belief, inverse = model.belief(), np.linalg.inv(precision_of(model))
    columns = np.array([sparse_actions(8, 5, first=1)])
    gains, widths = belief.gains(columns)
    np.testing.assert_allclose(gains[0], columns[0] @ inverse, rtol=1e-9)
    np.testing.assert_allclose(widths[0], [x @ inverse @ x for x in columns[0]], rtol=1e-9)
    np.testing.assert_allclose(belief.column(np.array([2]))[0], inverse[2], rtol=1e-9)
    np.testing.assert_allclose(belief.variances[0], np.diag(inverse), rtol=1e-9)
    np.testing.assert_array_equal(belief.theta[0], model.theta)


# ---------------------------------------------------------------------- a place given away


def test_an_integrated_column_leaves_the_exact_posterior_of_the_others() -> None:
    """Against inverting the whole precision and dropping the column; and for ever after."""
    model, actions = filled(FREE, 9, 25)
    whole, gone, rest = copy.deepcopy(model), 3, np.array([0, 1, 2, 4, 5])
    spent, level = model.spent, model.noise_scale()
    model.replace(gone, 0.6)
    assert model.prior[gone] == 0.6
    assert model.theta[gone] == 0
    assert model.covariance[gone, gone] == pytest.approx(1 / 0.6)
    assert not model.covariance[gone, rest].any()
    inverse = np.linalg.inv(precision_of(whole))
    assert model.spent - spent == pytest.approx(1 - FREE[gone] * inverse[gone, gone])
    # sigma is about the rewards, which are the same.
    assert model.noise_scale() == pytest.approx(level, rel=1e-12)
    for step, action in enumerate(sparse_actions(10, 2 * REFACTOR, first=1)):
        action[gone] = 0.0
        if step in (0, 1, 20, 2 * REFACTOR - 1):
            inverse = np.linalg.inv(precision_of(whole))
            np.testing.assert_allclose(
                model.covariance[np.ix_(rest, rest)], inverse[np.ix_(rest, rest)], rtol=1e-8
            )
            theta = inverse @ whole.response
            np.testing.assert_allclose(model.theta[rest], theta[rest], rtol=1e-8, atol=1e-12)
            assert model.squares == pytest.approx(whole.squares, rel=1e-10)
            assert model.agrees()
            assert_symmetric(model)
        reward = float(action.sum()) + math.sin(step)
        add(model, action, reward)
        add(whole, action, reward)
    # What the others learn later would have taught of it, too; that much freedom is not spent.
    freedom = [m.squares / m.noise_scale() ** 2 for m in (model, whole)]
    assert 0 <= freedom[0] - freedom[1] <= FREE[gone] * inverse[gone, gone] + 1 - model.spent
    assert len(actions) == 25


def test_what_is_left_is_symmetric_to_the_bit() -> None:
    """Half of each matrix is saved; the other half must be the same."""
    model, _ = filled(np.linspace(0.1, 2.0, 40), 30, 300)
    for place in (3, 17, 39):
        model.replace(place, 0.7)
        assert_symmetric(model)


def test_an_integrated_column_that_returns_is_taken_for_another() -> None:
    """The exact posterior of a model in which it is, and the information lost by that."""
    prior = PRIOR
    model, actions = filled(prior, 11, 40)
    before, gone = copy.deepcopy(model), 2
    inverse = np.linalg.inv(precision_of(model))
    model.replace(gone, float(prior[gone]))
    # log det C is twice the entropy: what it had in common, and what was known of itself.
    in_common = 1 - 1 / (inverse[gone, gone] * precision_of(before)[gone, gone])  # rho^2
    lost = 0.5 * (np.linalg.slogdet(model.covariance)[1] - np.linalg.slogdet(inverse)[1])
    own = -0.5 * math.log(prior[gone] * inverse[gone, gone])
    assert lost == pytest.approx(-0.5 * math.log(1 - in_common) + own)
    assert lost == pytest.approx(0.5 * math.log(1 + before.gram[gone, gone] / prior[gone]))
    assert in_common > 0.05
    slow = Slow(np.append(prior, prior[gone]))
    for action, reward in zip(actions, rewards_of(actions, 11), strict=True):
        slow.add(np.append(action, 0.0), reward)
    for action in sparse_actions(12, 30):
        reward = float(action @ np.linspace(-1, 1, SIZE))
        add(model, action, reward)
        another = np.append(action, action[gone])
        another[gone] = 0.0
        slow.add(another, reward)
    kept = np.array([0, 1, SIZE, 3, 4, 5])
    np.testing.assert_allclose(model.theta, slow.theta[kept], rtol=1e-8, atol=1e-11)
    expected = np.linalg.inv(slow.precision)[np.ix_(kept, kept)]
    np.testing.assert_allclose(model.covariance, expected, rtol=1e-8, atol=1e-12)


def test_the_error_of_a_return_fades() -> None:
    """Measured, in posterior deviations of the estimates, against never having retired it.

    Over 30 lives 0.42 after 10 rewards with the item that returned, and 0.21 after 100; over 200
    lives 0.41, 0.22, and 0.09 after 1,000. What was lost is a few rewards, once.
    """
    theta, errors = np.linspace(-1, 1, SIZE), []
    for life in range(30):
        whole, _ = filled(PRIOR, 100 + life, 20)
        model = copy.deepcopy(whole)
        model.replace(2, float(PRIOR[2]))
        row = []
        for step, action in enumerate(sparse_actions(900 + life, 100)):
            reward = float(theta @ action) + 0.3 * math.sin(step * step)
            add(whole, action, reward)
            add(model, action, reward)
            if step in (9, 99):
                off = (model.theta - whole.theta) / np.sqrt(np.diag(whole.covariance))
                row.append(float(np.mean(off**2)) / whole.noise_scale() ** 2)
        errors.append(row)
    soon, late = np.sqrt(np.mean(errors, axis=0))
    assert 0.2 < soon < 0.8
    assert late < 0.6 * soon


# ---------------------------------------------------------------------- draws


def assert_drawn_from(model: CoreRidge, deviates: FloatArray) -> None:
    """Whitened, they are standard normal: means and covariances within 6 standard errors.

    27 numbers at 6 standard errors each are a false alarm of 6e-8.
    """
    n, size = deviates.shape
    factor = np.linalg.cholesky(np.linalg.inv(model.covariance))
    whitened = deviates @ factor
    assert np.abs(whitened.mean(axis=0)).max() < 6 / math.sqrt(n)
    errors = np.where(np.eye(size) == 1, math.sqrt(2 / n), math.sqrt(1 / n))
    assert (np.abs(np.cov(whitened.T) - np.eye(size)) < 6 * errors).all()


def test_deviates_stay_draws_of_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through rewards, groups of them, new columns, a place given away, and drawing anew.

    20,000 of them are kept instead of three, from 5 columns on. Eight looks at 27 numbers and one
    at 4 correlations, at 6 standard errors each: a false alarm of 5e-7.
    """
    n = 20_000
    monkeypatch.setattr(core_ridge, "DEVIATES", n)
    monkeypatch.setattr(core_ridge, "FRESH", 4)
    rng = np.random.default_rng(13)
    model = CoreRidge(PRIOR[:5])
    model.start_deviates(slice(None), rng.standard_normal((n, 5)))
    assert_drawn_from(model, model.deviates)
    actions = sparse_actions(14, 30)
    for action in actions[:10]:
        action[5] = 0.0
        add(model, action, 1.0, 1.0, 0.0, rng.standard_normal(n))
    assert_drawn_from(model, model.deviates)
    model.grow(PRIOR[5:])
    model.start_deviates(np.array([5]), rng.standard_normal((n, 1)))
    assert_drawn_from(model, model.deviates)
    for number, action in enumerate(actions[10:20]):
        add(model, action, 1.0, 1.0 + number, 3.0, rng.standard_normal(n))
    assert_drawn_from(model, model.deviates)
    model.replace(1, 0.4)
    model.start_deviates(np.array([1]), rng.standard_normal((n, 1)))
    assert_drawn_from(model, model.deviates)
    for action in actions[20:]:
        add(model, action, -1.0, 2.0, 0.1, rng.standard_normal(n))
    before, where = model.deviates.copy(), np.array([1, 4])
    drawn = model.belief().spreads(rng, where)
    assert drawn.shape == (1, n, SIZE)
    np.testing.assert_array_equal(drawn[0], model.deviates)
    assert_drawn_from(model, model.deviates)
    # What was drawn anew has nothing to do with what was there; the rest keeps what it has alone.
    both = np.corrcoef(before.T, model.deviates.T)[:SIZE, SIZE:]
    assert np.abs(both[np.ix_(where, where)]).max() < 6 / math.sqrt(n)
    assert np.abs(np.diag(both)[[0, 2, 3, 5]]).min() > 0.1
    model.draw_all(rng)
    assert_drawn_from(model, model.deviates)
    np.testing.assert_array_less(np.abs(np.corrcoef(before.T, model.deviates.T)[:6, 6:]), 0.05)
    # Where nothing is drawn anew, nothing changes in law.
    few = CoreRidge(PRIOR[:4])
    assert_drawn_from(few, few.belief().spreads(rng, np.zeros(0, dtype=np.intp))[0])


@pytest.mark.parametrize("size", [FRESH, FRESH + 1])
def test_before_the_first_reward_a_free_column_stays_out_of_the_draws(size: int) -> None:
    model, rng = CoreRidge(np.append(0.0, np.ones(size - 1))), np.random.default_rng(15)
    model.draw_all(rng)
    drawn = model.belief().spreads(rng, np.arange(3))[0]
    assert not drawn[:, 0].any()
    assert drawn[:, 1:].all()
    add(model, np.eye(size)[0] + np.eye(size)[1], 2.0)
    model.draw_all(rng)
    assert model.belief().spreads(rng, np.arange(3))[0].all()


# ---------------------------------------------------------------------- saved


@pytest.mark.parametrize("size", [SIZE, FRESH + 2])
def test_restored_it_goes_on_bit_for_bit(size: int) -> None:
    prior = np.append(0.0, np.linspace(0.1, 2.0, size - 1))
    model, _ = filled(prior, 23, 50)
    model.draw_all(np.random.default_rng(24))
    twin = CoreRidge(np.ones(size))
    twin.restore(copy.deepcopy(model.state()))
    rngs = [np.random.default_rng(25) for _ in range(2)]
    for action in sparse_actions(26, REFACTOR, size, first=1):
        for one, rng in zip((model, twin), rngs, strict=True):
            add(one, action, 0.5, 1.0, 0.0, rng.standard_normal(core_ridge.DEVIATES))
    drawn, again = (
        one.belief().spreads(rng, np.arange(5))
        for one, rng in zip((model, twin), rngs, strict=True)
    )
    np.testing.assert_array_equal(drawn, again)
    for name, value in model.state().items():
        np.testing.assert_array_equal(value, twin.state()[name])


def test_what_contradicts_itself_does_not_agree() -> None:
    prior = np.append(0.0, np.linspace(0.1, 2.0, FRESH))
    model, _ = filled(prior, 27, 60)
    model.draw_all(np.random.default_rng(28))
    assert model.agrees()

    def agrees(name: str, place: Any, value: float, start: CoreRidge = model) -> bool:
        forged = copy.deepcopy(start)
        if isinstance(getattr(forged, name), float):
            setattr(forged, name, value)
        else:
            getattr(forged, name)[place] = value
        return forged.agrees()

    touched = int(np.flatnonzero(model.response)[1])
    assert agrees("theta", touched, float(model.theta[touched]))
    for name in ("theta", "response"):
        for value in (model.theta[touched] + 0.1, 1e300, -1e300):
            assert not agrees(name, touched, value)
    for name in ("covariance", "gram"):
        for value in (-1.0, 0.0, 1e-300, 1e300, 1.01 * getattr(model, name)[touched, touched]):
            assert not agrees(name, (touched, touched), value)
    assert not agrees("prior", 1, 5.0)
    assert not agrees("deviates", (1, 3), 1e6)
    assert not agrees("anchor", None, 1e300)
    fixed, _ = filled(PRIOR, 29, 10)
    assert not agrees("anchor", None, 1.0, fixed)
    new = CoreRidge(prior)
    assert new.agrees()
    for name in ("theta", "response", "covariance", "gram"):
        place = 3 if name in ("theta", "response") else (3, 3)
        assert not agrees(name, place, 7.0, new)
    for name in ("squares", "spent", "anchor"):
        assert not agrees(name, None, 1.0, new)
