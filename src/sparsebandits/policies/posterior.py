"""The posterior behind a rule's next decision, described for a certificate."""

import math
from typing import TYPE_CHECKING

import numpy as np

from sparsebandits.oracles import sparse_argmax
from sparsebandits.policies.certificate import Certificate, PosteriorCertificate
from sparsebandits.policies.rule import Rule

if TYPE_CHECKING:
    from sparsebandits.policies.adaptive import AdaptivePolicy


def describe_posterior(policy: "AdaptivePolicy", rule: Rule, draws: int) -> Certificate:
    """Return what is known in the only lane of a rule."""
    estimate, model = rule.estimate, rule.posterior
    sigma = float(rule.noise_scale()[0])
    count = 0 if model is None else int(model.counts[0])
    theta = None if estimate is None else estimate[0].copy()
    deviation = None if model is None else sigma * model.deviations()[0]
    support, gap, probability = None, math.nan, math.nan
    if theta is not None:
        best = sparse_argmax(policy.action_set, theta, policy.sparsity, policy.oracle)
        support, gap = best.support, best.gap
    if model is not None and theta is not None and count:
        shape = (draws, policy.action_set.dim)
        noise = np.random.default_rng(count).standard_normal(shape) @ model.root[0].T
        actions = policy.best_actions(theta + sigma * noise, policy.action_set)
        best_action = policy.best_actions(theta[None], policy.action_set)
        probability = float(((actions != 0) == (best_action != 0)).all(axis=1).mean())
    return PosteriorCertificate(
        locked=rule.support_in(0) is not None,
        support=rule.support_in(0),
        gap=gap,
        threshold=math.nan,
        cycle=count + 1,
        replications=count,
        cycles_to_lock=math.nan,
        steps_to_lock=math.nan,
        sigma=sigma,
        confidence="none",
        confidence_scale=1.0,
        theta_hat=theta,
        deviation=deviation,
        best_support=support,
        probability=probability,
        draws=draws if math.isfinite(probability) else 0,
    )
