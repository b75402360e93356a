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


def in_words(learner: Learner, certificate: Certificate) -> list[str]:
    """Say what the certificate says, a sentence at a time."""
    match certificate:
        case PosteriorCertificate():
            said = _of_posterior(learner, certificate)
        case Certificate(locked=True, support=tuple(support)):
            said = _of_lock(certificate, _listed(learner, support))
        case _:
            said = _of_gap_test(certificate)
    return said if certificate.warning is None else [*said, certificate.warning]


def _of_lock(certificate: Certificate, support: str) -> list[str]:
    if math.isnan(certificate.threshold):
        return [f"The policy has committed to {support}; nothing was verified."]
    return [
        f"The support is locked: {support}. The gap test has passed: what is played to earn uses "
        "these alone. It still explores, ever more rarely.",
        f"By the rewards of today the gap to the next best support is {number(certificate.gap)}, "
        f"and noise could fake one of up to {number(certificate.threshold)}.",
    ]


def _of_posterior(learner: Learner, certificate: PosteriorCertificate) -> list[str]:
    said = []
    if certificate.locked and certificate.support is not None:
        said.append(f"The policy has committed to {_listed(learner, certificate.support)}.")
    best = certificate.best_support
    if best is None or not certificate.replications:
        return [*said, "Nothing is known yet: the first rewards are still to come."]
    seen = " for a context of zeros" if getattr(learner.policy, "context", 0) else ""
    said.append(f"By the estimate the best support{seen} is {_listed(learner, best)}.")
    if math.isnan(certificate.probability):
        return [
            *said,
            "How sure that is cannot be said yet: it takes at least as many rewards as there are "
            "unknown numbers, and a policy with a posterior.",
        ]
    return [
        *said,
        f"It is the best in {_part(certificate.probability)} of {certificate.draws} draws from the "
        "posterior: how probable the model holds it to be, not a guarantee. This policy has no "
        "gap test and never locks; it goes on learning as long as it is told rewards.",
    ]


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
        said.append("With a gap of 0 the test never passes: two supports are equally good.")
    elif math.isfinite(steps):
        said.append(
            f"If the gap stays as it is, the lock takes about {number(steps, 2)} more decisions, "
            f"with noise of {number(certificate.sigma)} and the bound {certificate.confidence!r}."
        )
    if steps > _TOO_LONG:
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
