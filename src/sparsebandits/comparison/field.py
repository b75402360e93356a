"""The field: the recommended policy, the paper's algorithm and the baselines, for one setting."""

from dataclasses import dataclass

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import CompositionError
from sparsebandits.oracles import Limit
from sparsebandits.policies import Clairvoyant, CompactAPSEEG, Policy, ReferencePolicy
from sparsebandits.policies.reader import read_policy

RECOMMENDED = "SparseThompson"
GUARANTEED = "SparseThompson, guarantee"
"""The labels of the recommended policy and of its variant with a proven rate."""

SORTED_SCALE, GREEDY_SCALE = 0.02, 0.005
"""What the figures multiply epsilon_c by, for APSEE and for APSEE-G."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """The policies that run in an environment, in the order of tables, and why others do not."""

    policies: dict[str, Policy]
    left_out: dict[str, str]


def make_field(
    environment: LinearEnvironment, sparsity: Limit, horizon: int, *, tells_sigma: bool = False
) -> Field:
    """Build the field for an environment; who cannot run in it is left out, with the reason.

    `horizon` is for the policies that plan for one. Who can, estimates sigma, unless `tells_sigma`;
    the recommended policy always does.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> env = sb.LinearEnvironment(action_set=sb.LpBall(4), theta_star=sb.UniformCube())
    >>> list(make_field(env, sparsity=2, horizon=100).policies)[:3]
    ['SparseThompson', 'SparseThompson, guarantee', 'LinTS']
    """
    X, sigma = environment.action_set, "sigma=known" if tells_sigma else "sigma=estimate"
    is_fixed = environment.action_sets.is_fixed
    field = Field(policies={}, left_out={})
    texts = {
        **_learners(X, sigma),
        **_practice(environment, sigma),
        **(_paper(X, sigma) if is_fixed else _paper_moving(X)),
        "random H-sparse": "random-sparse",
        "CUCB": "cucb",
        "clairvoyant": "clairvoyant",
    }
    for label, text in texts.items():
        try:
            field.policies[label] = read_policy(
                text, action_set=X, sparsity=sparsity, horizon=horizon, sigma=environment.sigma
            )
        except CompositionError as error:
            field.left_out[label] = str(error)
    return field


def _learners(X: ActionSet, sigma: str) -> dict[str, str]:
    """Return what the command line calls the learners, by their labels."""
    # Where sorting is exact, greedy is the same oracle. Elsewhere OFUL calls it dozens of times a
    # step, and an exact search would take it tens of milliseconds on a 20-dimensional ellipsoid.
    # Fewer starts would be cheaper and unfair: with 4 in place of 16, the regret of c = 1 on the
    # l2 ball rose from 239 to 294 (T = 2,000, 20 trials).
    oracle, remark = ("greedy", ", greedy") if X.sorting is None else ("auto", "")
    oful = f"oful:{sigma},oracle={oracle}"
    return {
        RECOMMENDED: "sparse-thompson",
        GUARANTEED: "sparse-thompson:guarantee=true",
        "LinTS": f"lin-ts:{sigma}",
        **({"LinTS, greedy": f"lin-ts:{sigma},oracle=greedy"} if X.sorting is None else {}),
        f"OFUL, c = 1{remark}": f"{oful},radius=1.0",
        f"OFUL, Dani, c = 0.25{remark}": f"{oful},radius=0.25,maximiser=dani",
        f"OFUL, proven{remark}": f"{oful},radius=proven",
        "epsilon-greedy": "epsilon-greedy",
        "PEGE, all data, c^2": "pege:use_all_data=true,schedule=quadratic",
        "PEGE": "pege",
        "explore-then-commit": "explore-then-commit",
        "ESTC": f"estc:{sigma}",
        "support elimination": f"support-elimination:{sigma}",
        "CSAR": f"csar:{sigma}",
    }


def _practice(environment: LinearEnvironment, sigma: str) -> dict[str, str]:
    """Return who reckons with what the paper's model leaves out, where that is there."""
    texts = {}
    if environment.contexts is not None:
        texts[RECOMMENDED] = f"sparse-thompson:context={environment.contexts.size}"
        texts["SparseThompson, no context"] = "sparse-thompson"
    if environment.drift is not None:
        half_life = environment.drift.at / 4
        texts[f"SparseThompson, half-life {half_life:g}"] = f"sparse-thompson:half_life={half_life}"
    if environment.baseline:
        texts["SparseThompson, no intercept"] = "sparse-thompson:intercept=false"
        texts["LinTS, intercept"] = f"lin-ts:{sigma},intercept=true"
        texts["epsilon-greedy, intercept"] = "epsilon-greedy:intercept=true"
    return texts


def _paper(X: ActionSet, sigma: str) -> dict[str, str]:
    """Return the paper's algorithm as fits the set: literal, and scaled as in the figures."""
    if not X.is_strongly_convex:
        return {"paper: compact APSEE-G": "apsee-compact"}
    is_l2 = X.sorting is not None and X.sorting.is_l2
    kind, name, scale = (
        ("apsee", "APSEE", SORTED_SCALE) if is_l2 else ("apsee-g", "APSEE-G", GREEDY_SCALE)
    )
    return {
        f"paper: {name}, literal": f"{kind}:{sigma}",
        f"paper: {name}, x {scale:g}": f"{kind}:{sigma},confidence_scale={scale}",
    }


def _paper_moving(X: ActionSet) -> dict[str, str]:
    """Return the paper's algorithm for sets that change from step to step."""
    if not X.is_strongly_convex:
        return {"paper: moving sets, sqrt(c)": "time-varying:schedule=sqrt"}
    scaled = f"time-varying:schedule=linear,confidence_scale={GREEDY_SCALE}"
    return {
        "paper: moving sets, literal": "time-varying:schedule=linear",
        f"paper: moving sets, x {GREEDY_SCALE:g}": scaled,
    }


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
    is_clairvoyant = isinstance(policy, Clairvoyant)
    knowledge = {
        # The compact variant has a sigma and never uses it.
        "sigma": isinstance(getattr(policy, "sigma", ""), float)
        and not isinstance(policy, CompactAPSEEG),
        "T": getattr(policy, "horizon", None) is not None,
        "theta*": is_clairvoyant,
        "outcomes": isinstance(policy, ReferencePolicy) and not is_clairvoyant,
    }
    return tuple(name for name, is_told in knowledge.items() if is_told)


def sees_more(policy: Policy) -> str | None:
    """Return what a reference sees that no learner does, in words; None for learners."""
    return policy.sees if isinstance(policy, ReferencePolicy) else None
