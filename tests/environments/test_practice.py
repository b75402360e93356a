"""A baseline, contexts and drift of an environment: what they are, in sessions and simulations."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import environment_from_dict
from sparsebandits.environments.course import _BLOCK, Course
from sparsebandits.simulation.blockwise_engine import can_run
from sparsebandits.sweeps.spec import read_sweep
from tests.reference.stepwise import simulate_stepwise

DIM = 4
X = sb.LpBall(DIM)


def environment(**changes: Any) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        **{"action_set": X, "theta_star": sb.UniformCube(), "noise": sb.Gaussian(0.2), **changes}
    )


EVERY = {
    "baseline": environment(baseline=-7.5),
    "contexts": environment(contexts=sb.GaussianContexts(2, effect=0.7, shift=0.3)),
    "drift": environment(drift=sb.Jump(25)),
    "all": environment(
        baseline=2.0,
        contexts=sb.GaussianContexts(3),
        drift=sb.Jump(9),
        delay=sb.UniformDelay(5),
    ),
}
every_kind = pytest.mark.parametrize("name", EVERY)


def course(env: sb.LinearEnvironment, trials: list[int], dim: int = DIM) -> Course:
    theta = np.array([np.random.default_rng([1, i]).uniform(-1, 1, dim) for i in trials])
    generators = [[np.random.default_rng([k, i]) for i in trials] for k in (2, 3)]
    return env.course(theta, 2, *generators)


@every_kind
def test_it_is_read_back_and_shown(name: str) -> None:
    env, plain = EVERY[name], environment()
    again = environment_from_dict(json.loads(json.dumps(env.to_dict())))
    assert again == env != plain
    assert hash(again) == hash(env)
    assert pickle.loads(pickle.dumps(env)) == env
    for part in ("baseline", "contexts", "drift"):
        there = getattr(env, part) not in (0.0, None)
        assert (part in env.to_dict()) == there
        assert (f"{part}=" in repr(env)) == there
        assert part not in plain.to_dict()
        assert part not in repr(plain)
    assert plain.is_plain
    assert not env.is_plain
    assert env.is_steady == (name == "baseline")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "much"}, "baseline must be"),
        ({"baseline": float("nan")}, "baseline must be"),
        ({"contexts": 3}, "contexts must be contexts such as GaussianContexts"),
        ({"drift": 100}, "drift must be a drift such as Jump"),
        ({"drift": sb.Jump(5), "theta_star": np.ones(DIM)}, "theta_star must be a sampler"),
    ],
)
def test_wrong_parts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        environment(**changes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sb.GaussianContexts(0),
        lambda: sb.GaussianContexts(2, effect=-1.0),
        lambda: sb.GaussianContexts(2, shift=float("inf")),
        lambda: sb.Jump(0),
        lambda: sb.Jump.from_dict({"kind": "jump", "at": 1.5}),
        lambda: sb.GaussianContexts.from_dict({"kind": "uniform", "size": 2}),
        lambda: sb.Jump.from_dict({"kind": "jump", "after": 2}),
    ],
)
def test_wrong_contexts_and_jumps_are_refused(make: Any) -> None:
    with pytest.raises(sb.SparseBanditsError):
        make()


def test_theta_moves_with_the_context_and_the_baseline_too() -> None:
    """theta_t = theta* + Gamma z and b_t = b + g·z with one Gamma and g in a trial: solved for."""
    env = environment(baseline=4.0, contexts=sb.GaussianContexts(2, effect=0.7, shift=0.3))
    moments = [course(env, [5]).next() for _ in range(1)]
    running = course(env, [5])
    moments = [running.next() for _ in range(_BLOCK + 40)]
    seen = np.array([moment.contexts[0] for moment in moments if moment.contexts is not None])
    given = np.column_stack([np.ones(len(seen)), seen])
    for found, central, largest in (
        (np.array([moment.theta[0] for moment in moments]), moments[0].central[0], 0.7),
        (np.array([moment.baseline for moment in moments]), [4.0], 0.3),
    ):
        solved, residual, rank, _ = np.linalg.lstsq(given, found, rcond=None)
        assert rank == 3
        np.testing.assert_allclose(residual, 0.0, atol=1e-20)
        np.testing.assert_allclose(solved[0], central, atol=1e-12)
        assert 0 < np.abs(solved[1:]).max() <= largest
    assert all(moment.is_new for moment in moments)
    # 296 standard normal pairs: means and variances within 5 deviations.
    assert np.abs(seen.mean(axis=0)).max() < 5 / np.sqrt(len(seen))
    assert np.abs(seen.var(axis=0) - 1).max() < 5 * np.sqrt(2 / len(seen))
    assert len(np.unique(seen, axis=0)) == len(seen)


def test_a_jump_happens_once_and_draws_another_theta() -> None:
    running = course(EVERY["drift"], [0, 1])
    moments = [running.next() for _ in range(60)]
    assert [step for step, moment in enumerate(moments) if moment.is_new] == [0, 25]
    before, after = moments[24].theta, moments[25].theta
    assert (np.abs(before - after) > 1e-9).all()
    assert (moments[0].theta == before).all()
    assert (moments[59].theta == after).all()
    assert np.abs(after).max() <= 1


@every_kind
def test_a_trial_has_the_same_course_in_any_company(name: str) -> None:
    env = EVERY[name]
    alone, together = course(env, [7]), course(env, [3, 7, 4])
    for _ in range(30):
        one, some = alone.next(), together.next()
        np.testing.assert_array_equal(one.theta[0], some.theta[1])
        np.testing.assert_array_equal(one.baseline[0], some.baseline[1])
        if one.contexts is not None and some.contexts is not None:
            np.testing.assert_array_equal(one.contexts[0], some.contexts[1])


@every_kind
def test_a_session_is_one_course(name: str) -> None:
    env = EVERY[name]
    session, again = env.start(seed=3, sparsity=2), env.start(seed=3, sparsity=2)
    zero, axis = np.zeros(DIM), np.eye(DIM)[0]
    values, baselines = [], []
    for _ in range(30):
        if env.contexts is None:
            assert session.context is None
        else:
            assert session.context is not None
            assert session.context.shape == (env.contexts.size,)
            assert not session.context.flags.writeable
            np.testing.assert_array_equal(session.context, again.context)
        baselines.append(session.mean(zero))
        values.append(session.mean(axis) - session.mean(zero))
        assert session.pull(axis) == again.pull(axis)
    steps = {"baseline": 1, "drift": 2}.get(name, 30)
    assert len(np.unique(np.round(values, 9))) == steps
    if env.contexts is None or env.contexts.shift == 0:
        np.testing.assert_allclose(baselines, env.baseline)
    assert abs(np.mean([session.pull(zero) for _ in range(200)]) - env.baseline) < 0.2


def test_a_session_without_a_stream_for_contexts_is_refused() -> None:
    with pytest.raises(sb.InvalidValueError, match="course_rng"):
        EVERY["contexts"].session(np.ones(DIM), np.random.default_rng(0))
    EVERY["baseline"].session(np.ones(DIM), np.random.default_rng(0))


@every_kind
@pytest.mark.parametrize("kind", ["apsee", "lin-ts", "sparse-thompson"])
def test_simulations_are_those_step_by_step(name: str, kind: str) -> None:
    """And the engine over whole cycles, which knows of a baseline alone, is not taken else."""
    made: dict[str, sb.Policy] = {
        "apsee": sb.APSEE(action_set=X, sparsity=2, sigma=0.2, confidence_scale=0.02),
        "lin-ts": sb.LinTS(action_set=X, sparsity=2, intercept=True),
        "sparse-thompson": sb.SparseThompson(action_set=X, sparsity=2, half_life=30.0),
    }
    env, policy = EVERY[name], made[kind]
    assert can_run(policy, env) == (kind == "apsee" and env.is_steady)
    options: dict[str, Any] = {"horizon": 50, "trials": 2, "seed": 1, "points": 12}
    fast, slow = sb.simulate(policy, env, **options), simulate_stepwise(policy, env, **options)
    for measure in ("theta_error", "optimal_share", "locked_at", "optimum"):
        np.testing.assert_array_equal(getattr(fast, measure), getattr(slow, measure))
    np.testing.assert_allclose(fast.regret, slow.regret, rtol=1e-12)  # summed in another order
    assert np.isfinite(fast.optimum).all() == env.is_steady
    assert fast.regret.min() >= 0


@every_kind
def test_regret_is_against_the_best_for_theta_of_each_step(name: str) -> None:
    run = sb.simulate(sb.Clairvoyant(action_set=X, sparsity=2), EVERY[name], 60, 3, seed=2)
    np.testing.assert_allclose(run.regret, 0.0, atol=1e-9)
    np.testing.assert_array_equal(run.optimal_share, 1.0)
    other = sb.simulate(sb.RandomSparse(action_set=X, sparsity=2), EVERY[name], 60, 3, seed=2)
    assert other.regret[:, -1].min() > 10


def test_a_session_holds_to_rules_and_names() -> None:
    mix = sb.Box(np.zeros(3), np.ones(3), names=["tv", "radio", "web"])
    env = sb.LinearEnvironment(action_set=mix, theta_star=[1.0, 2.0, 3.0])
    assert env.names == mix.names
    rules = sb.Supports(at_most=2, never_together=[("tv", "radio")])
    session = env.start(seed=0, sparsity=rules)
    assert session.sparsity == rules
    assert session.pull([1.0, 0.0, 1.0]) > 0
    with pytest.raises(sb.InvalidValueError, match=r"never_together.*'tv', 'radio'"):
        session.pull([1.0, 1.0, 0.0])
    assert session.step == 1
    with pytest.raises(sb.InvalidValueError, match="did you mean 'radio'"):
        env.start(seed=0, sparsity=sb.Supports(at_most=2, always=["raido"]))


def test_rules_contexts_and_doses_side_by_side(tmp_path: Path) -> None:
    """`compare` with all of them at once, and `sweep` with doses and rules."""
    mix = sb.Budget(1.0, np.full(4, 0.6), min_dose=np.full(4, 0.2), names=["a", "b", "c", "d"])
    rules = sb.Supports(at_most=2, groups={("a", "b"): 1})
    env = sb.LinearEnvironment(
        action_set=mix, theta_star=sb.UniformCube(), contexts=sb.GaussianContexts(2), baseline=3.0
    )
    seeing = sb.SparseThompson(action_set=mix, sparsity=rules, context=2)
    policies = {"seeing": seeing, "blind": sb.LinTS(action_set=mix, sparsity=rules)}
    table = sb.compare(policies, env, horizon=20, trials=2, workers=1).to_dict()
    assert [entry["label"] for entry in table["policies"]] == ["seeing", "blind"]
    spec = read_sweep(
        {
            "trials": 2,
            "horizon": 15,
            "sparsity": rules.to_dict(),
            "policies": [{"kind": "sparse-thompson", "context": 2}],
            "environments": [
                {
                    "action_set": mix.to_dict(),
                    "theta_star": {"kind": "uniform-cube"},
                    "contexts": {"kind": "gaussian", "size": 2},
                }
            ],
        }
    )
    [cell] = spec.cells
    assert cell.policy.sparsity == rules
    assert cell.columns["sparsity"] == str(rules)
    sb.sweep(spec, tmp_path / "out")
    shown = sb.compare_sweep(tmp_path / "out")
    assert [entry.columns["sparsity"] for entry in shown.entries] == [str(rules)]
