"""How sure a learner is of its support, in words."""

import math

import numpy as np

from sparsebandits.dashboard.coordinates import names_of
from sparsebandits.policies import Learner
from sparsebandits.policies.certificate import Certificate, PosteriorCertificate
from sparsebandits.validation import IntArray


def in_words(learner: Learner, certificate: Certificate) -> list[str]:
    """Say what the certificate says, a sentence at a time."""
    match certificate:
        case PosteriorCertificate():
            said = _of_posterior(learner, certificate)
        case Certificate(locked=True, support=tuple(support)):
            said = [
                f"The support is locked: {_listed(learner, support)}. The gap test has passed: "
                "what is played to earn uses these alone. It still explores, ever more rarely."
            ]
        case _:
            said = _of_gap_test(certificate)
    return said if certificate.warning is None else [*said, certificate.warning]


def _of_posterior(learner: Learner, certificate: PosteriorCertificate) -> list[str]:
    said = []
    if certificate.locked and certificate.support is not None:
        said.append(f"The policy has committed to {_listed(learner, certificate.support)}.")
    best = certificate.best_support
    if best is None or not certificate.replications:
        return [*said, "Nothing is known yet: the first rewards are still to come."]
    said.append(f"By the estimate the best support is {_listed(learner, best)}.")
    if math.isnan(certificate.probability):
        return [
            *said,
            "How sure that is cannot be said yet: it takes at least as many rewards as there are "
            "unknown numbers, and a policy with a posterior.",
        ]
    return [
        *said,
        f"It is the best in {certificate.probability:.0%} of {certificate.draws} draws from the "
        "posterior: how probable the model holds it to be, not a guarantee. This policy has no "
        "gap test and never locks; it goes on learning as long as it is told rewards.",
    ]


def _of_gap_test(certificate: Certificate) -> list[str]:
    if math.isnan(certificate.gap) or math.isnan(certificate.threshold):
        return ["The gap test has not been made yet: the first cycle is not over."]
    share = certificate.gap / certificate.threshold if certificate.threshold else math.inf
    said = [
        f"The gap between the support and the next best is {certificate.gap:.3g}; to be locked it "
        f"must exceed {certificate.threshold:.3g} (it has reached {share:.0%} of that)."
    ]
    steps = certificate.steps_to_lock
    if math.isinf(steps):
        said.append("With a gap of 0 the test never passes: two supports are equally good.")
    elif math.isfinite(steps):
        said.append(
            f"If the gap stays as it is, the lock takes about {steps:,.0f} more decisions, with "
            f"noise of {certificate.sigma:.3g} and the bound {certificate.confidence!r}."
        )
    return said


def _listed(learner: Learner, support: tuple[int, ...]) -> str:
    indices: IntArray = np.array(support, dtype=np.intp)
    return ", ".join(names_of(learner, indices)) or "nothing at all"
