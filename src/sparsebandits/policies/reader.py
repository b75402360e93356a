"""A policy from text, fitted to a setting: one reader for the command line and for sweeps."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from sparsebandits.action_sets import ActionSet
from sparsebandits.descriptions import build_from, nearest
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.exploration import Basis
from sparsebandits.oracles import Limit
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.table import POLICIES, REFERENCES

KNOWN = "known"
"""As the sigma of a policy: that of the environment's noise."""

_SETTING = ("action_set", "sparsity")


def read_policy(
    text: str, *, action_set: ActionSet, sparsity: Limit, horizon: int, sigma: float
) -> Policy:
    """Build the policy that ``KIND`` or ``KIND:key=value,key=value`` names; see `policy_for`.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> setting = {"action_set": sb.LpBall(3), "sparsity": 1, "horizon": 100, "sigma": 0.5}
    >>> policy = read_policy("lin-ts:scale=0.5,oracle=exact", **setting)
    >>> policy.kind, policy.scale, policy.oracle
    ('lin-ts', 0.5, 'exact')
    """
    kind, _, options = text.partition(":")
    keywords: dict[str, Any] = {}
    for part in options.split(",") if options else []:
        key, sign, value = part.partition("=")
        key = key.strip()
        if not sign or not key:
            raise InvalidValueError(
                f"A policy is KIND:key=value,key=value; {part!r} in {text!r} is no key=value."
            )
        if key in keywords:
            raise InvalidValueError(f"The policy {text!r} gives the key {key!r} twice.")
        keywords[key] = _value(value.strip())
    return policy_for(
        kind, keywords, action_set=action_set, sparsity=sparsity, horizon=horizon, sigma=sigma
    )


def policy_for(
    kind: str,
    keywords: Mapping[str, Any],
    *,
    action_set: ActionSet,
    sparsity: Limit,
    horizon: int,
    sigma: float,
) -> Policy:
    """Build a policy of the table from its own keywords; the setting fills in the rest.

    Parameters
    ----------
    kind : str
    keywords : mapping
        ``sigma = "known"`` stands for `sigma`, and a basis may be a description.
    action_set : ActionSet
    sparsity : int or Supports
    horizon : int
        Told where the policy cannot do without: it must be given, or says when to stop exploring.
    sigma : float
        Told where the policy cannot do without: it has no way to estimate it. It is the sigma of
        `ass:noise`, E exp(lambda eta) <= exp(lambda^2 sigma^2 / 2), because the confidence bounds
        are proven with that one; the standard deviation is at most as large, and with it a bound
        may fail. Infinite where the noise has none.
    """
    classes = {**POLICIES, **REFERENCES}
    if kind not in classes:
        raise InvalidValueError(f"Unknown policy {kind!r}; {nearest(kind, classes)}")
    defaults = {field.name: field.default for field in dataclasses.fields(classes[kind])}
    known = [name for name in defaults if name not in _SETTING]
    for key in keywords:
        if key not in known:
            raise InvalidValueError(
                f"The policy {kind!r} has no key {key!r}; {nearest(key, known)}"
            )
    given = dict(keywords)
    if given.get("sigma", _needed_sigma(defaults)) == KNOWN:
        if not math.isfinite(sigma):
            raise CompositionError(
                "The noise is not sub-Gaussian, so that there is no sigma to be known. Give "
                f'{kind!r} a number, or sigma = "estimate" where it takes that.'
            )
        given["sigma"] = sigma
    required = defaults.get("horizon") is dataclasses.MISSING
    if required or ("exploration_steps" in known and "exploration_steps" not in given):
        given.setdefault("horizon", horizon)
    if isinstance(given.get("basis"), Mapping):
        given["basis"] = Basis.from_dict(given["basis"])
    setting = {"kind": kind, "action_set": action_set, "sparsity": sparsity}
    policy: Policy = build_from("A policy", classes, {**setting, **given})
    return policy


def _needed_sigma(defaults: Mapping[str, Any]) -> str | None:
    """Return "known" where the class has a sigma and neither estimates it nor does without."""
    default = defaults.get("sigma")
    return KNOWN if default is dataclasses.MISSING or isinstance(default, float) else None


def _value(text: str) -> Any:
    """Return a number, true, false or null as such, and anything else as text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)
