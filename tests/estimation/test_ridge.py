"""RidgeLanes against the normal equations solved anew, over lanes, groups and a free column."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sparsebandits.estimation import RidgeLanes
from sparsebandits.estimation.ridge import REFACTOR
from sparsebandits.validation import FloatArray, IntArray

DIM = 4
PRIOR = np.array([1.0, 0.3, 2.0, 0.05])


class Slow:
    """One lane, kept as lists and solved from scratch whenever asked."""

    def __init__(self, prior: FloatArray) -> None:
        self.prior = prior
        self.actions: list[FloatArray] = []
        self.rewards: list[float] = []

    def add(self, action: FloatArray, reward: float) -> None:
        self.actions.append(np.array(action))
        self.rewards.append(float(reward))

    @property
    def design(self) -> FloatArray:
        return np.array(self.actions).reshape(-1, self.prior.size)

    @property
    def precision(self) -> FloatArray:
        return np.asarray(self.design.T @ self.design + np.diag(self.prior))

    @property
    def theta(self) -> FloatArray:
        return np.asarray(np.linalg.solve(self.precision, self.design.T @ np.array(self.rewards)))

    def objective(self, theta: FloatArray) -> float:
        """The penalised sum of squares."""
        missed = np.array(self.rewards) - self.design @ theta
        return float(missed @ missed + theta @ (self.prior * theta))

    @property
    def sigma(self) -> float:
        """sqrt(objective / (n - trace of the hat matrix))."""
        hat = self.design @ np.linalg.solve(self.precision, self.design.T)
        return math.sqrt(self.objective(self.theta) / (len(self.rewards) - float(np.trace(hat))))


def check(data: RidgeLanes, lane: int, slow: Slow, rtol: float = 1e-9) -> None:
    """Compare one lane with the slow version."""
    inverse = np.linalg.inv(slow.precision)
    np.testing.assert_allclose(data.theta_hat[lane], slow.theta, rtol=rtol, atol=1e-11)
    root = data.root[lane]
    np.testing.assert_allclose(root @ root.T, inverse, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(data.deviations()[lane], np.sqrt(np.diag(inverse)), rtol=rtol)
    assert data.squares[lane] == pytest.approx(slow.objective(slow.theta), rel=rtol, abs=1e-12)
    assert data.counts[lane] == len(slow.rewards)
    np.testing.assert_allclose(data.gram[lane], slow.design.T @ slow.design, atol=1e-9)
    np.testing.assert_allclose(data.response[lane], slow.design.T @ slow.rewards, atol=1e-9)
    action = np.linspace(-1, 2, slow.prior.size)
    shared = np.tile(action, (len(data.counts), 1))
    assert data.widths(shared)[lane] == pytest.approx(action @ inverse @ action, rel=rtol)
    if slow.rewards:
        assert data.noise_scale()[lane] == pytest.approx(slow.sigma, rel=1e-8)


def random_data(seed: int, n: int, dim: int = DIM) -> tuple[FloatArray, FloatArray]:
    """Sparse actions and rewards, (n, dim) and (n,)."""
    rng = np.random.default_rng(seed)
    actions = rng.standard_normal((n, dim)) * (rng.random((n, dim)) < 0.6)
    return actions, actions @ np.linspace(-1, 1, dim) + 0.3 * rng.standard_normal(n)


# ---------------------------------------------------------------------- the slow version


def test_one_by_one_every_number_is_that_of_the_normal_equations() -> None:
    data, slow = RidgeLanes(1, PRIOR), Slow(PRIOR)
    for action, reward in zip(*random_data(0, 60), strict=True):
        data.add(action[None], np.array([reward]))
        slow.add(action, reward)
        check(data, 0, slow)


def test_in_blocks_every_number_is_that_of_the_normal_equations() -> None:
    actions, rewards = random_data(1, 90)
    data, slow = RidgeLanes(2, PRIOR), Slow(PRIOR)
    for first, last in ((0, 1), (1, 3), (3, 50), (50, 51), (51, 90)):
        data.add_many(actions[first:last], rewards[first:last], lane=1)
        for action, reward in zip(actions[first:last], rewards[first:last], strict=True):
            slow.add(action, reward)
        check(data, 1, slow)
        data.add(actions[[0, first]], rewards[[0, first]])
        slow.add(actions[first], rewards[first])
        check(data, 1, slow)
    assert data.counts.tolist() == [5, 95]


def test_the_squares_are_the_least_value_of_the_objective() -> None:
    """No other theta has less, and theta_hat has it: the definition, not the formula."""
    actions, rewards = random_data(2, 30)
    data, slow = RidgeLanes(1, PRIOR), Slow(PRIOR)
    data.add_many(actions[:20], rewards[:20])
    for action, reward in zip(actions[20:], rewards[20:], strict=True):
        data.add(action[None], np.array([reward]))
    for action, reward in zip(actions, rewards, strict=True):
        slow.add(action, reward)
    least = slow.objective(data.theta_hat[0])
    assert data.squares[0] == pytest.approx(least, rel=1e-11)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 10.0):
        for away in size * rng.standard_normal((20, DIM)):
            assert slow.objective(data.theta_hat[0] + away) > least


@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_squares_of_small_noise_on_large_rewards_do_not_cancel(blocks: int) -> None:
    """sum y^2 - b·theta_hat would keep no digit: 1e12 n against 1e-6 n."""
    rng = np.random.default_rng(3)
    actions = rng.standard_normal((400, DIM))
    noise = 1e-3 * rng.standard_normal(400)
    rewards = actions @ np.array([1e6, -2e6, 3e6, 1e6]) + noise
    data = RidgeLanes(1, np.full(DIM, 1e-20))
    for some in np.array_split(np.arange(400), blocks):
        data.add_many(actions[some], rewards[some])
    missed = rewards - actions @ np.linalg.lstsq(actions, rewards, rcond=None)[0]
    assert data.squares[0] == pytest.approx(float(missed @ missed), rel=1e-3)
    one_by_one = RidgeLanes(1, np.full(DIM, 1e-20))
    for action, reward in zip(actions, rewards, strict=True):
        one_by_one.add(action[None], np.array([reward]))
    assert one_by_one.squares[0] == pytest.approx(float(missed @ missed), rel=1e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 6),
    lanes=st.integers(1, 5),
    steps=st.integers(0, 25),
)
def test_any_lanes_in_any_order_are_the_normal_equations(
    seed: int, dim: int, lanes: int, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = 10.0 ** rng.uniform(-3, 3, dim)
    data = RidgeLanes(lanes, prior)
    slow = [Slow(prior) for _ in range(lanes)]
    for _ in range(steps):
        move = rng.random()
        if move < 0.3:
            n = int(rng.integers(1, 6))
            actions, rewards = rng.standard_normal((n, dim)), rng.standard_normal(n)
            lane = int(rng.integers(lanes))
            data.add_many(actions, rewards, lane)
            told = np.full(n, lane)
        else:
            told = np.arange(lanes) if move < 0.6 else rng.permutation(lanes)[: 1 + lanes // 2]
            actions = rng.standard_normal((told.size, dim))
            rewards = rng.standard_normal(told.size)
            data.add(actions, rewards, None if move < 0.6 else told)
        for lane, action, reward in zip(told, actions, rewards, strict=True):
            slow[lane].add(action, reward)
    for lane in range(lanes):
        check(data, lane, slow[lane], rtol=1e-7)


def test_without_data_the_prior_is_all_there_is() -> None:
    data = RidgeLanes(3, PRIOR)
    np.testing.assert_array_equal(data.theta_hat, np.zeros((3, DIM)))
    np.testing.assert_allclose(data.deviations(), np.tile(1 / np.sqrt(PRIOR), (3, 1)))
    np.testing.assert_array_equal(data.noise_scale(), np.zeros(3))
    np.testing.assert_array_equal(data.squares, np.zeros(3))
    np.testing.assert_allclose(data.widths(np.eye(DIM)[:3]), 1 / PRIOR[:3])
    normals = np.random.default_rng(0).standard_normal((3, DIM))
    np.testing.assert_allclose(
        data.draw(normals, np.array([1.0, 2.0, 0.0])),
        normals / np.sqrt(PRIOR) * np.array([[1.0], [2.0], [0.0]]),
    )
    data.refactor(np.arange(3))
    np.testing.assert_allclose(data.root @ np.swapaxes(data.root, 1, 2), [np.diag(1 / PRIOR)] * 3)


def test_rewards_of_the_action_zero_teach_the_noise_alone() -> None:
    data = RidgeLanes(1, PRIOR)
    for reward in (3.0, -4.0):
        data.add(np.zeros((1, DIM)), np.array([reward]))
    np.testing.assert_array_equal(data.theta_hat, np.zeros((1, DIM)))
    assert data.noise_scale()[0] == pytest.approx(math.sqrt(25 / 2))


def test_the_first_estimate_of_the_noise_is_the_reward_itself() -> None:
    """freedom = 1 - x'(V+P)^-1 x and squares = y^2 times the same."""
    data = RidgeLanes(1, PRIOR)
    data.add(np.array([[1.0, -2.0, 0.0, 3.0]]), np.array([-0.7]))
    assert data.noise_scale()[0] == pytest.approx(0.7)


# ---------------------------------------------------------------------- statistics


@pytest.mark.parametrize("sigma", [0.5, 20.0])
def test_the_noise_scale_comes_to_sigma(sigma: float) -> None:
    """n sigma_hat^2 / sigma^2 is near chi^2 with n - d degrees: 1e-9 on either side."""
    rng = np.random.default_rng(4)
    lanes, n = 20, 2000
    actions = rng.standard_normal((lanes, n, DIM))
    rewards = actions @ np.linspace(-1, 1, DIM) + sigma * rng.standard_normal((lanes, n))
    data = RidgeLanes(lanes, np.full(DIM, 1e-3))
    for lane in range(lanes):
        data.add_many(actions[lane], rewards[lane], lane)
    total = float((data.noise_scale() ** 2).sum() * (n - DIM) / sigma**2)
    low, high = float(chi2.ppf(1e-9, lanes * (n - DIM))), float(chi2.isf(1e-9, lanes * (n - DIM)))
    assert low < total < high
    assert (high - low) / (lanes * (n - DIM)) < 0.1


def test_fewer_rewards_than_coordinates_do_not_pass_for_no_noise() -> None:
    """Where theta* is drawn from the prior, the squares are sigma^2 chi^2 with n degrees.

    So their mean over 4,000 lanes has a standard deviation of sqrt(2 n / 4000); six of them, seven
    times, are a false alarm of 1e-8. The estimate divides by less than n and errs upwards.
    """
    rng = np.random.default_rng(5)
    lanes, dim = 4000, 10
    data = RidgeLanes(lanes, np.ones(dim))
    theta = rng.standard_normal((lanes, dim))
    for n in range(1, 8):
        actions = rng.standard_normal((lanes, dim)) / math.sqrt(dim)
        means = np.einsum("nd,nd->n", actions, theta)
        data.add(actions, means + rng.standard_normal(lanes))
        assert abs(float(data.squares.mean()) - n) < 6 * math.sqrt(2 * n / lanes)
        assert (data.noise_scale() ** 2 > data.squares / n).all()


def test_draws_have_the_posteriors_mean_and_covariance() -> None:
    """The whitened draws are standard normal: mean and covariance within 6 standard errors.

    14 numbers at 6 standard errors each are a false alarm below 1e-7.
    """
    actions, rewards = random_data(6, 25)
    n, scale = 40_000, 1.7
    one = RidgeLanes(1, PRIOR)
    one.add_many(actions, rewards)
    data = RidgeLanes(n, PRIOR)
    data.root[:], data.theta_hat[:] = one.root, one.theta_hat
    normals = np.random.default_rng(7).standard_normal((n, DIM))
    draws = data.draw(normals, np.full(n, scale))
    precision = actions.T @ actions + np.diag(PRIOR)
    factor = np.linalg.cholesky(precision)
    whitened = (draws - np.linalg.solve(precision, actions.T @ rewards)) @ factor / scale
    assert np.abs(whitened.mean(axis=0)).max() < 6 / math.sqrt(n)
    errors = np.where(np.eye(DIM) == 1, math.sqrt(2 / n), math.sqrt(1 / n))
    assert (np.abs(np.cov(whitened.T) - np.eye(DIM)) < 6 * errors).all()
    some = np.array([5, 3])
    np.testing.assert_array_equal(data.draw(normals[some], np.full(2, scale), some), draws[some])


# ---------------------------------------------------------------------- lanes


def bits(data: RidgeLanes, lane: int) -> list[bytes]:
    return [array[lane].tobytes() for array in data.arrays().values()]


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_a_lane_has_the_same_bits_in_any_company(dim: int) -> None:
    """Alone, in twos, sevens and three hundreds, past a refactoring, whole steps and parts."""
    rng = np.random.default_rng(dim)
    steps, most = REFACTOR + 20, 300
    prior = rng.uniform(0.1, 2.0, dim)
    actions = rng.standard_normal((most, dim))
    rewards = rng.standard_normal((steps, most))
    turns = [np.roll(np.arange(most), step)[:, None] for step in range(7)]
    runs = {lanes: RidgeLanes(lanes, prior) for lanes in (1, 2, 7, most)}
    parts = RidgeLanes(most, prior)
    for step in range(steps):
        played = actions[turns[step % 7][:, 0]]
        for lanes, data in runs.items():
            data.add(played[:lanes], rewards[step, :lanes])
        halves: list[IntArray] = [np.arange(1, most, 2)[::-1], np.arange(0, most, 2)]
        if step < 30 or step > REFACTOR - 5:
            for half in halves:
                parts.add(played[half], rewards[step, half], half)
        else:
            parts.add(played, rewards[step])
    for lanes, data in runs.items():
        for lane in range(lanes):
            assert bits(data, lane) == bits(runs[most], lane)
    for lane in range(most):
        assert bits(parts, lane) == bits(runs[most], lane)
    questions = rng.standard_normal((most, dim))
    whole = runs[most]
    for lanes, data in runs.items():
        asked = questions[:lanes]
        assert data.widths(asked).tobytes() == whole.widths(questions)[:lanes].tobytes()
        assert data.deviations().tobytes() == whole.deviations()[:lanes].tobytes()
        assert data.noise_scale().tobytes() == whole.noise_scale()[:lanes].tobytes()
        drawn = whole.draw(questions, np.linspace(1.0, 2.0, most))
        scales = np.linspace(1.0, 2.0, most)[:lanes]
        assert data.draw(asked, scales).tobytes() == drawn[:lanes].tobytes()


def test_what_one_lane_is_told_does_not_reach_the_others() -> None:
    data = RidgeLanes(3, PRIOR)
    actions, rewards = random_data(8, 3)
    data.add(actions, rewards)
    before = [bits(data, lane) for lane in range(3)]
    data.add(actions[:1], rewards[:1], np.array([1]))
    data.add_many(actions, rewards, lane=1)
    data.refactor(np.array([1]))
    assert bits(data, 0) == before[0]
    assert bits(data, 2) == before[2]
    assert bits(data, 1) != before[1]


# ---------------------------------------------------------------------- groups and a free column

FREE = np.array([0.0, 0.3, 2.0, 0.05])
"""The first coordinate is an intercept."""


def with_intercept(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    actions, rewards = random_data(seed, n)
    actions[:, 0] = 1.0
    return actions, rewards


@pytest.mark.parametrize("prior", [PRIOR, FREE], ids=["ridge", "intercept"])
def test_rewards_of_one_action_at_once_are_the_same_one_by_one(prior: FloatArray) -> None:
    """Two lanes with groups of different sizes, all lanes and some, past a refactoring."""
    actions, _ = with_intercept(13, 40)
    rng = np.random.default_rng(14)
    together, single = RidgeLanes(2, prior), RidgeLanes(2, prior)
    for step in range(20):
        sizes = rng.integers(1, 60, 2)
        rewards = [rng.normal(1.0, 2.0, size) for size in sizes]
        means = np.array([some.mean() for some in rewards])
        spread = np.array([((some - some.mean()) ** 2).sum() for some in rewards])
        played = actions[2 * step : 2 * step + 2]
        lanes = np.array([1, 0]) if step % 2 else None
        told = np.arange(2) if lanes is None else lanes
        together.add(played, means, lanes, sizes.astype(np.float64), spread)
        for place in range(2):
            for reward in rewards[place]:
                single.add(played[[place]], np.array([reward]), told[[place]])
    assert (together.counts > REFACTOR).any()
    # What is free is measured from the anchor: the first reward, or the mean of the first group.
    off = np.zeros((2, DIM))
    off[:, 0] = single.anchor - together.anchor
    np.testing.assert_allclose(together.theta_hat, single.theta_hat + off, rtol=1e-10, atol=1e-12)
    for name in ("counts", "squares"):
        np.testing.assert_allclose(together.arrays()[name], single.arrays()[name], rtol=1e-10)
    np.testing.assert_allclose(together.gram, single.gram, rtol=1e-12, atol=1e-12)
    for lane in range(2):
        one, two = (data.root[lane] @ data.root[lane].T for data in (together, single))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(together.noise_scale(), single.noise_scale(), rtol=1e-10)
    if prior[0]:
        np.testing.assert_allclose(together.response, single.response, rtol=1e-10, atol=1e-10)


def test_a_free_coordinate_is_an_unpenalised_intercept() -> None:
    """Ridge on centred columns, the way it is done by hand; and the same one by one as at once."""
    actions, rewards = with_intercept(15, 50)
    rewards += 100.0
    data, logged = RidgeLanes(1, FREE), RidgeLanes(1, FREE)
    for action, reward in zip(actions, rewards, strict=True):
        data.add(action[None], np.array([reward]))
    logged.add_many(actions, rewards)
    means = actions[:, 1:].mean(axis=0)
    centred, above = actions[:, 1:] - means, rewards - rewards.mean()
    slopes = np.linalg.solve(centred.T @ centred + np.diag(FREE[1:]), centred.T @ above)
    intercept = rewards.mean() - means @ slopes
    for model in (data, logged):
        np.testing.assert_allclose(model.theta_hat[0, 1:], slopes, rtol=1e-9)
        assert model.theta_hat[0, 0] + model.anchor[0] == pytest.approx(intercept, rel=1e-12)
        missed = above - centred @ slopes
        expected = float(missed @ missed + slopes @ (FREE[1:] * slopes))
        assert model.squares[0] == pytest.approx(expected, rel=1e-9)
    assert data.anchor[0] == logged.anchor[0] == rewards[0]


def test_before_its_first_reward_a_free_coordinate_stays_out_of_every_draw() -> None:
    data = RidgeLanes(2, FREE)
    data.add(np.array([[1.0, 0.5, 0.0, 0.0]]), np.array([7.0]), np.array([1]))
    drawn = data.draw(np.ones((2, DIM)), np.ones(2))
    assert drawn[0, 0] == 0
    assert data.deviations()[0, 0] == 0
    # Known as well as one reward says where the slope is what it is believed to be.
    assert data.variances()[1, 0] == pytest.approx(1 + 0.25 / 0.3)


@pytest.mark.parametrize("constant", [2.0**-3, 2.0**10, 2.0**20])
def test_a_constant_in_every_reward_moves_the_anchor_alone(constant: float) -> None:
    """Where the sum costs no digit, not one bit of anything else changes."""
    actions, rewards = with_intercept(16, 60)
    rewards = np.rint(rewards * 2**20) / 2**20
    plain, raised = RidgeLanes(1, FREE), RidgeLanes(1, FREE)
    for one, more in ((plain, 0.0), (raised, constant)):
        one.add_many(actions[:20], rewards[:20] + more)
        for action, reward in zip(actions[20:], rewards[20:], strict=True):
            one.add(action[None], np.array([reward + more]))
    assert raised.anchor[0] == plain.anchor[0] + constant
    for name, array in plain.arrays().items():
        if name != "anchor":
            np.testing.assert_array_equal(array, raised.arrays()[name])


def test_a_copy_is_told_what_the_first_is_not() -> None:
    actions, rewards = with_intercept(17, 3)
    data = RidgeLanes(3, FREE)
    data.add(actions, rewards)
    before = [bits(data, lane) for lane in range(3)]
    twin, part = data.copy(), data.copy(np.array([2, 0]))
    assert [bits(twin, lane) for lane in range(3)] == before
    assert [bits(part, lane) for lane in range(2)] == [before[2], before[0]]
    twin.add(actions, rewards)
    part.add(actions[[2]], rewards[[2]], np.array([0]))
    assert [bits(data, lane) for lane in range(3)] == before
    assert bits(part, 0) == bits(twin, 2)
    assert part.has_free
    np.testing.assert_array_equal(part.prior, data.prior[:2])


def test_beliefs_are_those_of_the_root() -> None:
    data, slow = RidgeLanes(2, PRIOR), Slow(PRIOR)
    for action, reward in zip(*random_data(18, 30), strict=True):
        data.add(np.stack([action, action[::-1]]), np.array([reward, -reward]))
        slow.add(action, reward)
    inverse = np.linalg.inv(slow.precision)
    belief, columns = data.belief(np.array([0])), random_data(19, 5)[0][None]
    gains, widths = belief.gains(columns)
    np.testing.assert_allclose(gains[0], columns[0] @ inverse, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(widths[0], [x @ inverse @ x for x in columns[0]], rtol=1e-9)
    np.testing.assert_allclose(belief.column(np.array([2]))[0], inverse[2], rtol=1e-9)
    np.testing.assert_allclose(belief.variances[0], np.diag(inverse), rtol=1e-9)
    normals = np.random.default_rng(20).standard_normal((1, 3, DIM))
    for spread, normal in zip(belief.spreads(normals)[0], normals[0], strict=True):
        np.testing.assert_allclose(spread, data.root[0] @ normal, rtol=1e-12)
