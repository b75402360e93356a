"""The field: the recommended policy, the paper's algorithm and the baselines, for one setting."""

from collections.abc import Callable
from dataclasses import dataclass

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.policies import (
    APSEE,
    APSEEG,
    CSAR,
    CUCB,
    ESTC,
    OFUL,
    PEGE,
    Clairvoyant,
    CompactAPSEEG,
    EpsilonGreedy,
    ExploreThenCommit,
    LinTS,
    Policy,
    RandomSparse,
    SupportElimination,
    TimeVaryingAPSEEG,
)
from sparsebandits.policies.adaptive import ReferencePolicy
from sparsebandits.policies.thompson import SparseThompson

RECOMMENDED = "SparseThompson"
GUARANTEED = "SparseThompson, guarantee"
"""The labels of the recommended policy and of its variant with a proven rate."""

SORTED_SCALE, GREEDY_SCALE = 0.02, 0.005
"""What the figures multiply epsilon_c by, for APSEE and for APSEE-G."""

Builder = Callable[[], Policy]


@dataclass(frozen=True, kw_only=True)
class Field:
    """The policies that run on a set, in the order of tables, and why others do not."""

    policies: dict[str, Policy]
    left_out: dict[str, str]


def told(policy: Policy) -> tuple[str, ...]:
    """Return what a policy is told beside X, H and its rewards.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball = sb.LpBall(3)
    >>> told(sb.LinTS(action_set=ball, sparsity=1))
    ()
    >>> told(sb.CUCB(action_set=ball, sparsity=1, sigma=1))
    ('sigma', 'outcomes')
    """
    found = []
    if not isinstance(policy, CompactAPSEEG) and isinstance(getattr(policy, "sigma", ""), float):
        found.append("sigma")
    if getattr(policy, "horizon", None) is not None:
        found.append("T")
    if isinstance(policy, Clairvoyant):
        found.append("theta*")
    elif isinstance(policy, ReferencePolicy):
        found.append("outcomes")
    return tuple(found)


def sees_more(policy: Policy) -> str | None:
    """Return what a reference sees that no learner does, in words; None for learners."""
    return policy.sees if isinstance(policy, ReferencePolicy) else None


def field_policies(
    action_set: ActionSet,
    sparsity: int,
    sigma: float | str,
    horizon: int,
    *,
    noise_level: float | None = None,
    moving: bool = False,
) -> dict[str, Policy]:
    """Return the policies of `make_field`, by their labels.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> list(field_policies(sb.LpBall(4), 2, "estimate", 100))[:3]
    ['SparseThompson', 'SparseThompson, guarantee', 'LinTS']
    """
    made = make_field(action_set, sparsity, sigma, horizon, noise_level=noise_level, moving=moving)
    return made.policies


def make_field(
    action_set: ActionSet,
    sparsity: int,
    sigma: float | str,
    horizon: int,
    *,
    noise_level: float | None = None,
    moving: bool = False,
) -> Field:
    """Build the field for a set; policies that cannot run on it are left out, with the reason.

    Parameters
    ----------
    action_set : ActionSet
    sparsity : int
        H.
    sigma : float or "estimate"
        What the policies that want the noise level are told; the recommended one never is.
    horizon : int
        T, for the policies that plan for one.
    noise_level : float, optional
        What the policies are told that cannot do without; sigma if left out.
    moving : bool
        Whether the set changes from step to step.
    """
    level = noise_level if noise_level is not None or isinstance(sigma, str) else sigma
    builders = {
        **_learners(action_set, sparsity, sigma, horizon),
        **_paper(action_set, sparsity, sigma, level, moving),
        **_ends(action_set, sparsity, level),
    }
    policies: dict[str, Policy] = {}
    left_out: dict[str, str] = {}
    for label, build in builders.items():
        try:
            policies[label] = build()
        except CompositionError as error:
            left_out[label] = str(error)
    return Field(policies=policies, left_out=left_out)


def _learners(X: ActionSet, H: int, sigma: float | str, horizon: int) -> dict[str, Builder]:
    # Where sorting is exact, greedy is the same oracle. Elsewhere OFUL calls it dozens of times a
    # step, and an exact search would take it tens of milliseconds on a 20-dimensional ellipsoid.
    # Fewer starts would be cheaper and unfair: with 4 in place of 16, the regret of c = 1 on the
    # l2 ball rose from 239 to 294 (T = 2,000, 20 trials).
    hard = X.sorting is None
    oracle, remark = ("greedy", ", greedy") if hard else ("auto", "")

    def oful(radius: float | str, maximiser: str = "alternating") -> Builder:
        return lambda: OFUL(
            action_set=X,
            sparsity=H,
            sigma=sigma,
            radius=radius,
            maximiser=maximiser,
            oracle=oracle,
        )

    made: dict[str, Builder] = {
        RECOMMENDED: lambda: SparseThompson(action_set=X, sparsity=H),
        GUARANTEED: lambda: SparseThompson(action_set=X, sparsity=H, guarantee=True),
        "LinTS": lambda: LinTS(action_set=X, sparsity=H, sigma=sigma),
    }
    if hard:
        made["LinTS, greedy"] = lambda: LinTS(
            action_set=X, sparsity=H, sigma=sigma, oracle="greedy"
        )
    return {
        **made,
        f"OFUL, c = 1{remark}": oful(1.0),
        f"OFUL, Dani, c = 0.25{remark}": oful(0.25, "dani"),
        f"OFUL, proven{remark}": oful("proven"),
        "epsilon-greedy": lambda: EpsilonGreedy(action_set=X, sparsity=H),
        "PEGE, all data, c^2": lambda: PEGE(
            action_set=X, sparsity=H, use_all_data=True, schedule="quadratic"
        ),
        "PEGE": lambda: PEGE(action_set=X, sparsity=H),
        "explore-then-commit": lambda: ExploreThenCommit(action_set=X, sparsity=H, horizon=horizon),
        "ESTC": lambda: ESTC(action_set=X, sparsity=H, sigma=sigma, horizon=horizon),
        "support elimination": lambda: SupportElimination(action_set=X, sparsity=H, sigma=sigma),
        "CSAR": lambda: CSAR(action_set=X, sparsity=H, sigma=sigma),
    }


def _paper(
    X: ActionSet, H: int, sigma: float | str, level: float | None, moving: bool
) -> dict[str, Builder]:
    """Return the paper's algorithm as fits the set: literal, and scaled as in the figures."""
    if moving:

        def varying(scale: float) -> Builder:
            return lambda: TimeVaryingAPSEEG(
                action_set=X,
                sparsity=H,
                sigma=_known(level, "The paper's algorithm on moving sets"),
                schedule="linear" if X.is_strongly_convex else "sqrt",
                confidence_scale=scale,
            )

        if not X.is_strongly_convex:
            return {"paper: moving sets, sqrt(c)": varying(1.0)}
        return {
            "paper: moving sets, literal": varying(1.0),
            f"paper: moving sets, x {GREEDY_SCALE:g}": varying(GREEDY_SCALE),
        }
    if not X.is_strongly_convex:
        return {"paper: compact APSEE-G": lambda: CompactAPSEEG(action_set=X, sparsity=H)}
    is_l2 = X.sorting is not None and X.sorting.is_l2
    algorithm: type[APSEE] | type[APSEEG] = APSEE if is_l2 else APSEEG
    name, factor = ("APSEE", SORTED_SCALE) if is_l2 else ("APSEE-G", GREEDY_SCALE)

    def phased(scale: float) -> Builder:
        return lambda: algorithm(action_set=X, sparsity=H, sigma=sigma, confidence_scale=scale)

    return {
        f"paper: {name}, literal": phased(1.0),
        f"paper: {name}, x {factor:g}": phased(factor),
    }


def _ends(X: ActionSet, H: int, level: float | None) -> dict[str, Builder]:
    """Return the two ends of every comparison, and the reference between them."""
    return {
        "random H-sparse": lambda: RandomSparse(action_set=X, sparsity=H),
        "CUCB": lambda: CUCB(action_set=X, sparsity=H, sigma=_known(level, "CUCB")),
        "clairvoyant": lambda: Clairvoyant(action_set=X, sparsity=H),
    }


def _known(level: float | None, who: str) -> float:
    if level is None:
        raise CompositionError(f"{who} must be told the noise level; pass noise_level=...")
    return level
