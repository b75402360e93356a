"""How sure a learner is of its support, in words."""

import math

import numpy as np

from sparsebandits.dashboard.coordinates import names_of
from sparsebandits.dashboard.words import number, share
from sparsebandits.policies import Learner
from sparsebandits.policies.certificate import Certificate, PosteriorCertificate
from sparsebandits.validation import IntArray

_TOO_LONG = 100_000
"""Decisions to the lock from which on something else is worth a try."""

_DRAWS = 200

_STILL_TO_COME = "Nothing is known yet: the first rewards are still to come."
_NO_POSTERIOR = "How sure that is cannot be said: this policy keeps no posterior."
_TOO_FEW = (
    "How sure that is cannot be said yet: it takes at least as many rewards as there are unknown "
    "numbers."
)


def in_words(learner: Learner, certificate: Certificate, rewards: int) -> list[str]:
    """Say what the certificate says, a sentence at a time; so many rewards have been told."""
    match certificate:
        case PosteriorCertificate():
            said = _of_posterior(learner, certificate, rewards)
        case Certificate(locked=True, support=tuple(support)):
            said = _of_lock(certificate, _listed(learner, support))
        case Certificate(confidence="none"):
            said = _of_draws(learner, rewards)
        case _:
            said = _of_gap_test(certificate)
    return said if certificate.warning is None else [*said, certificate.warning]


def _of_lock(certificate: Certificate, support: str) -> list[str]:
    if math.isnan(certificate.threshold):
        return [f"The policy has committed to {support}; nothing was verified."]
    if math.isinf(certificate.gap):
        return [f"The support is locked: {support}. There is no other to take it for."]
    return [
        f"The support is locked: {support}. The gap test has passed: what is played to earn uses "
        "these alone. It still explores, ever more rarely.",
        f"By the rewards of today the gap to the next best support is {number(certificate.gap)}, "
        f"and noise could fake one of up to {number(certificate.threshold)}.",
    ]


def why_no_choice(learner: Learner, rewards: int) -> str:
    """Say why no action is better than another by the estimate; nothing where one is."""
    theta = learner.theta_hat
    if theta is not None and theta.any():
        return ""
    if not rewards:
        return _STILL_TO_COME
    if theta is None:
        return (
            "There is no estimate yet: a policy that explores in rounds has one after the first of "
            "them, and a policy that plays at random never has."
        )
    return "By the rewards so far every effect is 0: no action is better than another."


def _of_posterior(learner: Learner, certificate: PosteriorCertificate, rewards: int) -> list[str]:
    said = []
    if certificate.locked and certificate.support is not None:
        said.append(f"The policy has committed to {_listed(learner, certificate.support)}.")
    best, why_none = certificate.best_support, why_no_choice(learner, rewards)
    if best is None or not rewards or why_none:
        return [*said, why_none or _STILL_TO_COME]
    said.append(_best(learner, best))
    if math.isnan(certificate.probability):
        return [*said, _NO_POSTERIOR if certificate.deviation is None else _TOO_FEW]
    said.append(_drawn(certificate.probability, certificate.draws))
    if not certificate.locked:
        said.append("No gap test is made: it goes on learning as long as it is told rewards.")
    return said


def _of_draws(learner: Learner, rewards: int) -> list[str]:
    """Say what a policy of cycles without a gap test believes, by draws from its posterior."""
    why_none, theta = why_no_choice(learner, rewards), learner.theta_hat
    if why_none or theta is None:
        return [why_none]
    drawn = learner.thetas_drawn(_DRAWS)
    thetas = theta[None] if drawn is None else drawn
    policy = learner.policy
    used = np.asarray(policy.best_actions(thetas, policy.action_set) != 0)
    said = [_best(learner, tuple(np.flatnonzero(used[0]).tolist()))]
    if drawn is None:
        return [*said, _TOO_FEW]
    agreeing = float((used[1:] == used[0]).all(axis=1).mean())
    return [*said, _drawn(agreeing, _DRAWS), "This policy makes no gap test."]


def _best(learner: Learner, support: tuple[int, ...]) -> str:
    seen = " for a context of zeros" if getattr(learner.policy, "context", 0) else ""
    return f"By the estimate the best support{seen} is {_listed(learner, support)}."


def _drawn(probability: float, draws: int) -> str:
    return (
        f"It is the best in {_part(probability)} of {draws} draws from the posterior: how probable "
        "the model holds it to be, not a guarantee."
    )


def _of_gap_test(certificate: Certificate) -> list[str]:
    if math.isnan(certificate.gap) or math.isnan(certificate.threshold):
        return ["The gap test has not been made yet: the first cycle is not over."]
    reached = certificate.gap / certificate.threshold if certificate.threshold else math.inf
    said = [
        f"The gap between the support and the next best is {number(certificate.gap)}; to be locked "
        f"it must exceed {number(certificate.threshold)} (it has reached {share(reached)} of that)."
    ]
    steps = certificate.steps_to_lock
    if math.isinf(steps):
        said.append(
            "With a gap of 0 the test never passes, by any bound: two supports are equally good by "
            "the estimate. SparseThompson learns without a lock."
        )
    elif math.isfinite(steps):
        said.append(
            f"If the gap stays as it is, the lock takes about {number(steps, 2)} more decisions, "
            f"with noise of {number(certificate.sigma)} and the bound {certificate.confidence!r}."
        )
    if math.inf > steps > _TOO_LONG:
        said.append(
            "That is too long to wait for: a sharper bound (confidence='mixture' or 'pairwise') "
            "takes fewer, and SparseThompson learns without a lock."
        )
    return said


def _part(probability: float) -> str:
    return share(probability) if probability else "none"


def _listed(learner: Learner, support: tuple[int, ...]) -> str:
    indices: IntArray = np.array(support, dtype=np.intp)
    return ", ".join(names_of(learner, indices)) or "nothing at all"
