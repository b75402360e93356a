"""A contract: promises, each a function that looks for a way to break it."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError, SparseBanditsError
from sparsebandits.oracles import as_limit
from sparsebandits.policies import Policy
from sparsebandits.validation import FloatArray, IntArray

Part = TypeVar("Part")

ROUNDS = 6
"""Random thetas and supports per promise."""


class ContractError(SparseBanditsError, AssertionError):
    """A set or a policy breaks a promise; the message says which, and what shows it.

    Attributes
    ----------
    promise : str
        What was promised.

    Examples
    --------
    >>> raise ContractError("An action is feasible.", "theta=[1.0, 0.0]")
    Traceback (most recent call last):
    sparsebandits.testing.contract.ContractError: An action is feasible. Not so: theta=[1.0, 0.0]
    """

    def __init__(self, promise: str, shown: str) -> None:
        super().__init__(f"{promise} Not so: {shown}")
        self.promise = promise


class Examination(Generic[Part]):
    """One part under examination against one promise: its random numbers, and its verdict.

    Parameters
    ----------
    part : object
        What is held to the promise.
    promise : str
    seed : int
    """

    def __init__(self, part: Part, promise: str, seed: int) -> None:
        self.part, self.promise, self.seed = part, promise, seed
        self.rng = np.random.default_rng(seed)

    def require(self, holds: Any, what: str, **evidence: Any) -> None:
        """Raise unless `holds`; the evidence is what one needs to see it again."""
        if not holds:
            shown = [f"{name}={_plain(value)}" for name, value in evidence.items()]
            raise ContractError(
                self.promise, f"{what} ({', '.join([*shown, f'seed={self.seed}'])}; {self.part!r})."
            )

    def refuses(self, call: Callable[[], object], what: str, **evidence: Any) -> None:
        """Raise unless the call raises an error of ours."""
        try:
            call()
        except SparseBanditsError:
            return
        self.require(False, f"{what} was taken", **evidence)


Promise = Callable[[Examination[Part]], None]


class SparseProblem(NamedTuple):
    """A set X and the H that its oracles are examined with."""

    action_set: ActionSet
    sparsity: int


SetExam = Examination[SparseProblem]
PolicyExam = Examination[Policy]


def examine(part: Part, promises: Mapping[str, Promise[Part]], seed: int) -> None:
    """Hold a part to every promise in turn, each with random numbers of its own."""
    for text, promise in promises.items():
        try:
            promise(Examination(part, text, seed))
        except ContractError:
            raise
        except Exception as error:
            shown = f"it raised {type(error).__name__}: {error} (seed={seed}; {part!r})."
            raise ContractError(text, shown) from error


def draw(exam: SetExam) -> tuple[FloatArray, list[int]]:
    """Return a theta, some entries 0 or small, and a support."""
    dim = exam.part.action_set.dim
    theta = exam.rng.standard_normal(dim) * exam.rng.choice([0.0, 1e-3, 1.0, 1.0], dim)
    return theta, np.flatnonzero(exam.rng.random(dim) < 0.6).tolist()


def can_act(policy: Policy, available: IntArray) -> bool:
    """Whether the policy's set has an action on these coordinates alone that is sparse enough."""
    try:
        as_limit(policy.sparsity, policy.action_set.restrict(available))
    except InvalidValueError:
        return False
    return True


def close(first: Any, second: Any, size: Any, relative: float = 1e-9) -> bool:
    """Whether two arrays agree up to a share of `size`, the largest that they could be."""
    return bool((np.abs(np.asarray(first) - np.asarray(second)) <= relative * size).all())


def same_bits(first: Any, second: Any) -> bool:
    """Whether two arrays, or two Nones, are the same to the last bit; 0 and -0 are."""
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second, equal_nan=True)


def through_json(data: Any) -> Any:
    """Return what a file would hold; what strict JSON cannot hold is an error."""
    return json.loads(json.dumps(data, allow_nan=False))


def _plain(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
