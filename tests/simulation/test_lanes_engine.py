"""Trials side by side have the bits of trials driven one by one through ask and tell."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies import POLICIES, REFERENCES, Policy
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.rule import InformedRule
from sparsebandits.simulation import lanes_engine
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import FloatArray, IntArray
from tests.contracts.examples import correlated_matrix
from tests.reference.stepwise import simulate_stepwise

DIM = 4
Make = Callable[[sb.ActionSet], Policy]


def of(kind: str, **keywords: Any) -> Make:
    """A maker of policies of a kind, on any set."""

    def make(action_set: sb.ActionSet) -> Policy:
        policy = POLICIES[kind](action_set=action_set, sparsity=2, **keywords)
        assert isinstance(policy, Policy)
        return policy

    return make


MAKERS: dict[str, Make] = {
    "sparse-thompson": of("sparse-thompson"),
    "sparse-thompson-floor": of("sparse-thompson", guarantee=True, sigma=0.3),
    "lin-ts": of("lin-ts"),
    "lin-ts-known": of("lin-ts", sigma=0.3, oracle="greedy", scale=0.5),
    "oful": of("oful", starts=3, sweeps=2),
    "oful-dani": of("oful", maximiser="dani", radius=0.5),
    "pege": of("pege"),
    "pege-all": of("pege", use_all_data=True, schedule="sqrt", basis="boundary"),
    "explore-then-commit": of("explore-then-commit", horizon=60),
    "epsilon-greedy": of("epsilon-greedy", rate=0.3),
    "estc": of("estc", exploration_steps=25),
    "support-elimination": of("support-elimination", sigma=0.002),
    "csar": of("csar", sigma=0.05),
    "csar-estimate": of("csar", delta=0.3, tolerance=3.0),
    "random-sparse": of("random-sparse"),
    "apsee": of("apsee", sigma=0.2, confidence_scale=0.02),
    "apsee-all": of("apsee", sigma=0.2, confidence_scale=0.02, use_all_data=True),
    "apsee-g": of("apsee-g", sigma=0.2, confidence_scale=0.02, insist=True),
    "apsee-compact": of("apsee-compact"),
    "time-varying": of("time-varying", sigma=0.2, confidence_scale=0.02, insist=True),
}
MATRIX = correlated_matrix(np.random.default_rng(0), DIM, 4.0)


def own_set(name: str) -> sb.ActionSet:
    """A set that the policy takes."""
    return sb.Box(np.full(DIM, -0.5), np.ones(DIM)) if "csar" in name else sb.LpBall(DIM)


def fixed(name: str, **changes: Any) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        **{
            "action_set": own_set(name),
            "theta_star": sb.UniformCube(),
            "noise": sb.Gaussian(0.2),
            **changes,
        }
    )


def moving(sequence: Any, **changes: Any) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        **{
            "action_sets": sequence,
            "theta_star": sb.UniformCube(),
            "noise": sb.Gaussian(0.2),
            **changes,
        }
    )


def assert_same_bits(one: sb.Run, two: sb.Run) -> None:
    for name in ("regret", "theta_error", "optimal_share", "locked_at", "support_correct"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_array_equal(one.optimum, two.optimum)
    assert (one.overlap is None) == (two.overlap is None)
    if one.overlap is not None and two.overlap is not None:
        np.testing.assert_array_equal(one.overlap, two.overlap)


def both(policy: Policy, env: sb.LinearEnvironment, horizon: int = 90, trials: int = 3) -> sb.Run:
    """Run both engines, compare, and return the run."""
    options: dict[str, Any] = {"horizon": horizon, "trials": trials, "seed": 7, "points": 40}
    options["track_support"] = True
    lanes = sb.simulate(policy, env, **options, engine="lanes")
    assert_same_bits(lanes, simulate_stepwise(policy, env, **options))
    assert lanes.regret[:, -1].max() > 0
    return lanes


every_policy = pytest.mark.parametrize("name", MAKERS)
one_of_each_kind = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in POLICIES else pytest.mark.thorough) for name in MAKERS],
)


def test_every_adaptive_kind_is_here() -> None:
    assert {make(own_set(name)).kind for name, make in MAKERS.items()} == set(POLICIES)


# ---------------------------------------------------------------------- lanes == stepwise


@every_policy
def test_on_a_fixed_set(name: str) -> None:
    run = both(MAKERS[name](own_set(name)), fixed(name))
    commits = MAKERS[name](own_set(name)).rule([np.random.default_rng(0)]).commits
    assert (run.locked_share > 0) == commits
    assert run.overlap is not None
    assert np.isfinite(run.overlap[:, -1]).all() == (name != "random-sparse")
    locked = np.isfinite(run.locked_at)
    assert not run.support_correct[~locked].any()


@one_of_each_kind
def test_where_items_come_and_go(name: str) -> None:
    X = own_set(name)
    both(MAKERS[name](X), moving(sb.RandomAvailability(X, 0.6, seed=1)))


@one_of_each_kind
def test_on_a_set_that_turns(name: str) -> None:
    if "csar" in name or name in ("apsee", "apsee-all"):
        boxes = [sb.Box(np.full(DIM, -0.5), np.linspace(1, end, DIM)) for end in (0.1, 1.0)]
        sequence: Any = sb.Alternating(boxes)
    else:
        sequence = sb.RotatingEllipsoid(MATRIX, period=40)
    both(MAKERS[name](sequence.base), moving(sequence))


@one_of_each_kind
def test_where_rewards_come_late(name: str) -> None:
    run = both(MAKERS[name](own_set(name)), fixed(name, delay=sb.UniformDelay(15)), horizon=120)
    prompt = sb.simulate(
        MAKERS[name](own_set(name)), fixed(name), horizon=120, trials=3, seed=7, points=40
    )
    assert (run.optimum == prompt.optimum).all()
    if name != "random-sparse":
        assert not np.array_equal(run.theta_error, prompt.theta_error, equal_nan=True)


@one_of_each_kind
def test_where_the_noise_depends_on_the_action(name: str) -> None:
    both(MAKERS[name](own_set(name)), fixed(name, noise=sb.Heteroscedastic(0.4, norm_bound=2.0)))


@pytest.mark.parametrize(
    "noise", [sb.UniformNoise(0.5), sb.Rademacher(0.3), sb.StudentT(0.3, 3.0)], ids=str
)
def test_past_the_blocks_in_which_noise_and_draws_are_made(noise: Any) -> None:
    """Lanes draw 1,024 noises and 64 rows of the policy at once, the other engine 4,096 and 1."""
    env = fixed("lin-ts", noise=noise, delay=sb.UniformDelay(3))
    policy = MAKERS["epsilon-greedy"](own_set("lin-ts"))
    both(policy, env, horizon=lanes_engine._NOISE_BLOCK + 250, trials=1)


# ---------------------------------------------------------------------- trials


@pytest.mark.each_value
@every_policy
@pytest.mark.parametrize("delay", [None, sb.UniformDelay(6)], ids=["prompt", "late"])
def test_a_trial_has_the_same_bits_in_any_company(name: str, delay: Any) -> None:
    """Also where the trials commit, end a phase or get their first estimate at other times."""
    policy, env = MAKERS[name](own_set(name)), fixed(name, delay=delay)
    options: dict[str, Any] = {"horizon": 80, "seed": 3, "points": 40, "track_support": True}
    many = sb.simulate(policy, env, trials=6, **options)
    for first, count in ((0, 1), (2, 3), (5, 1)):
        some = sb.simulate(policy, env, trials=count, first_trial=first, **options)
        part = slice(first, first + count)
        assert many.overlap is not None
        cut = dataclasses.replace(
            many,
            regret=many.regret[part],
            theta_error=many.theta_error[part],
            optimal_share=many.optimal_share[part],
            locked_at=many.locked_at[part],
            support_correct=many.support_correct[part],
            optimum=many.optimum[part],
            overlap=many.overlap[part],
        )
        assert_same_bits(some, cut)


def test_policies_of_one_call_share_theta_and_noise() -> None:
    """The j-th reward of either has the same noise: with one action all rewards are equal."""
    X = sb.LpBall(DIM)
    policies = [MAKERS["lin-ts"](X), MAKERS["oful"](X), sb.CompactAPSEEG(action_set=X, sparsity=2)]
    runs = sb.simulate(policies, fixed("lin-ts"), horizon=60, trials=3, seed=1)
    for policy, run in zip(policies, runs, strict=True):
        alone = sb.simulate(policy, fixed("lin-ts"), horizon=60, trials=3, seed=1)
        np.testing.assert_array_equal(run.regret, alone.regret)
        np.testing.assert_array_equal(run.optimum, runs[0].optimum)
    # PEGE's first cycle and that of the paper's policy are the same explorations.
    cycle = sb.simulate(MAKERS["pege"](X), fixed("lin-ts"), horizon=DIM + 1, trials=3, seed=1)
    paper = sb.simulate(policies[2], fixed("lin-ts"), horizon=DIM + 1, trials=3, seed=1)
    np.testing.assert_allclose(cycle.theta_error[:, -1], paper.theta_error[:, -1], rtol=1e-9)
    one = sb.FiniteSet(np.vstack([np.zeros(1), np.ones(1)]))
    single = sb.LinearEnvironment(action_set=one, theta_star=[2.0], noise=sb.Gaussian(0.3))
    errors = []
    for kind in ("lin-ts", "oful"):
        policy = Policy.from_dict(
            {"kind": kind, "action_set": one.to_dict(), "sparsity": 1, "sigma": 0.3}
        )
        errors.append(sb.simulate(policy, single, horizon=30, trials=2, seed=5).theta_error)
    noise = stream(5, 1, Stream.EXPLOITATION_NOISE).normal(0.0, 0.3, 30)
    told = 30 * 2.0 + noise.sum()
    np.testing.assert_array_equal(errors[0], errors[1])
    assert errors[0][1, -1] == pytest.approx(abs(told / 31 - 2.0), rel=1e-9)


def test_explorations_and_exploitations_have_their_own_noise() -> None:
    """The j-th exploration has the j-th noise of its tape, whatever was exploited in between."""
    told: dict[str, list[float]] = {"explore": [], "exploit": []}
    X = sb.LpBall(DIM)
    env = fixed("pege", theta_star=np.zeros(DIM))
    policy = Spying(action_set=X, sparsity=1)
    Spy.told = []
    sb.simulate(policy, env, horizon=40, trials=1, seed=9)
    for exploring, reward in Spy.told:
        told["explore" if exploring else "exploit"].append(reward)
    for phase, purpose in (
        ("explore", Stream.EXPLORATION_NOISE),
        ("exploit", Stream.EXPLOITATION_NOISE),
    ):
        expected = 0.2 * stream(9, 0, purpose).standard_normal(len(told[phase]))
        np.testing.assert_allclose(told[phase], expected, rtol=1e-12)
    assert len(told["explore"]) == 20


# ---------------------------------------------------------------------- what a rule is told


class Spy(InformedRule):
    """Plays coordinate t mod d, explores every other step, and notes what it is told."""

    told: list[tuple[bool, float]]
    items: list[tuple[FloatArray, FloatArray]]
    revealed: FloatArray

    def __init__(self, lanes: int) -> None:
        super().__init__(sb.LpBall(DIM), SparseOracle(1), lanes)
        self.steps = 0
        Spy.items = []

    def choose(self, current: sb.ActionSet) -> FloatArray:
        actions = np.zeros((self.lanes, DIM))
        actions[:, self.steps % DIM] = 1.0
        self.pulls = np.full(self.lanes, EXPLOIT if self.steps % 2 else 0)
        self.steps += 1
        return actions

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        Spy.told.append((pulls[0] != EXPLOIT, float(rewards[0])))

    def reveal(self, theta: FloatArray) -> None:
        Spy.revealed = theta

    def learn_items(self, actions: FloatArray, items: FloatArray) -> None:
        Spy.items.append((actions, items))

    @property
    def estimate(self) -> FloatArray | None:
        return None

    def arrays(self) -> dict[str, Any]:
        return {}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Spying(Policy):
    """A policy whose rule is a spy."""

    kind = "spying"

    def rule(self, generators: Any, block: int = 1) -> Spy:
        return Spy(len(generators))


def test_references_are_told_theta_and_a_noisy_outcome_of_every_coordinate() -> None:
    env = fixed("pege")
    Spy.told = []
    sb.simulate(Spying(action_set=own_set("pege"), sparsity=1), env, horizon=25, trials=3, seed=4)
    theta = np.array([env.draw_theta(stream(4, i, Stream.PARAMETER), 1) for i in range(3)])
    np.testing.assert_array_equal(Spy.revealed, theta)
    assert len(Spy.items) == 25
    for trial in range(3):
        rng = stream(4, trial, Stream.ITEM_NOISE)
        for actions, items in Spy.items:
            assert np.flatnonzero(actions[trial]).size == 1
            expected = theta[trial] + 0.2 * rng.standard_normal(DIM)
            np.testing.assert_allclose(items[trial], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_have_the_same_bits_in_any_company(kind: str) -> None:
    X = own_set("csar")
    keywords = {"sigma": 0.2} if kind == "cucb" else {}
    policy = Policy.from_dict({"kind": kind, "action_set": X.to_dict(), "sparsity": 2, **keywords})
    for env in (fixed("csar"), moving(sb.RandomAvailability(X, 0.6, seed=1))):
        options: dict[str, Any] = {"horizon": 60, "seed": 2, "points": 30}
        many = sb.simulate(policy, env, trials=4, **options)
        alone = sb.simulate(policy, env, trials=1, first_trial=2, **options)
        np.testing.assert_array_equal(many.regret[2], alone.regret[0])
        np.testing.assert_array_equal(many.theta_error[2], alone.theta_error[0])
        if kind == "clairvoyant":
            np.testing.assert_allclose(many.regret, 0.0, atol=1e-9)


# ---------------------------------------------------------------------- the records


def test_regret_never_falls_and_the_share_of_optimal_supports_is_a_share() -> None:
    for name in ("sparse-thompson", "lin-ts", "epsilon-greedy"):
        X = own_set(name)
        for env in (fixed(name), moving(sb.RandomAvailability(X, 0.6, seed=1))):
            run = sb.simulate(MAKERS[name](X), env, horizon=150, trials=3, seed=2)
            assert np.diff(run.regret, axis=1).min() >= -1e-9
            assert run.optimal_share.min() >= 0
            assert run.optimal_share.max() <= 1
            hits = run.optimal_share * run.steps
            np.testing.assert_allclose(hits, np.rint(hits), atol=1e-6)
            assert np.isnan(run.optimum).all() != env.action_sets.is_fixed


def test_progress_reaches_the_total() -> None:
    seen: list[tuple[int, int]] = []
    sb.simulate(
        MAKERS["random-sparse"](own_set("random-sparse")),
        fixed("random-sparse"),
        horizon=150,
        trials=3,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (450, 450)
    assert [done for done, _ in seen] == [192, 384, 450]
