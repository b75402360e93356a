"""The contract of action sets can be broken, and says which promise was."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.action_sets.marginals import Marginals
from sparsebandits.testing import ContractError, check_action_set
from sparsebandits.validation import FloatArray, IntArray, Support
from tests.contracts.examples import correlated_matrix


class TooLong(sb.LpBall):
    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        return 1.1 * super()._respond(theta, indices)

    def sparse_norm_bound(self, sparsity: int) -> float:
        return 1.1


class Elsewhere(sb.LpBall):
    def best_response(self, theta: Any, support: Support = None) -> FloatArray:
        return super().best_response(theta)


class Timid(sb.LpBall):
    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        return 0.99 * super()._respond(theta, indices)


class Uncorrelated(sb.Ellipsoid):
    """Answers as if the matrix were diagonal."""

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        alone = sb.Ellipsoid(np.diag(np.diagonal(self.matrix)))._respond(theta, indices)
        full = np.zeros((len(theta), self.dim + 1))
        full[np.arange(len(theta))[:, None], indices] = alone
        x = full[:, : self.dim]
        size = np.sqrt(np.einsum("nd,de,ne->n", x, self.matrix, x))[:, None]
        return np.asarray(np.divide(alone, size, out=np.zeros_like(alone), where=size > 0))


class ShortBound(sb.LpBall):
    def sparse_norm_bound(self, sparsity: int) -> float:
        return 0.9


class LongAxes(sb.LpBall):
    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = super().axis_reach()
        return lower, 1.5 * upper


class Crowded(sb.LpBall):
    """The last bit of a row depends on how many rows are beside it."""

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        response = super()._respond(theta, indices)
        return response * (1 - 2.0**-50) if indices.ndim == 2 and len(theta) > 1 else response


class Unrestricted(sb.LpBall):
    def restrict(self, available: Support | sb.AllBut) -> "Unrestricted":
        super().restrict(available)
        return self


class Forgetful(sb.LpBall):
    def _parameters(self) -> dict[str, Any]:
        return {"dim": self.dim, "p": self.p}


class NoJson(sb.LpBall):
    def _parameters(self) -> dict[str, Any]:
        return {"dim": np.int64(self.dim)}


class Unseeded(sb.LpBall):
    def sample(self, rng: np.random.Generator, sparsity: int) -> FloatArray:
        return super().sample(np.random.default_rng(), sparsity)


class Absolute(sb.LpBall):
    """Takes small numbers for 0, whatever the unit."""

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        return super()._respond(np.where(np.abs(theta) > 1e-12, theta, 0.0), indices)


class Open(sb.LpBall):
    """Hands out what it keeps."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._reach = -np.ones(dim), np.ones(dim)

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        return self._reach if self.is_unrestricted else super().axis_reach()


class Writable(sb.LpBall):
    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.weights = np.ones(dim)


class WrongGains(sb.Polytope):
    def marginals(self, theta: FloatArray) -> Marginals:
        return sb.LpBall(self.dim).restrict(self.available).marginals(theta)


class Credulous(sb.LpBall):
    def contains(self, x: Any, *, tolerance: float = 1e-9) -> Any:
        return super().contains(np.nan_to_num(x), tolerance=tolerance)


class WholeSection(sb.Box):
    """Forgets whose bounds are whose."""

    def _section(self, places: IntArray) -> sb.Box:
        return sb.Box(self.lower[: places.size], self.upper[: places.size])


class Raising(sb.LpBall):
    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        raise ZeroDivisionError("no division")


MATRIX = correlated_matrix(np.random.default_rng(1), 4)

BROKEN: list[tuple[sb.ActionSet, str]] = [
    (TooLong(4), "The best response is an action of the set"),
    (Elsewhere(4), "The best response is an action of the set"),
    (Timid(4), "The best response attains the value"),
    (Uncorrelated(MATRIX), "The best response attains the value"),
    (ShortBound(4), "No action is longer"),
    (LongAxes(4), "`axis_reach` is where the set ends"),
    (Crowded(4), "A row has the answer that it has alone"),
    (Unrestricted(4), "A restricted set leaves the rest at 0"),
    (Forgetful(4, radius=2.0), "pickled, or saved and read back"),
    (NoJson(4), "pickled, or saved and read back"),
    (Unseeded(4), "the same for the same seed"),
    (Absolute(4), "The unit of theta does not matter"),
    (Open(4), "What a set hands out"),
    (Writable(4), "What a set hands out"),
    (WrongGains(np.vstack([MATRIX, -MATRIX]), np.ones(8)), "Greedy picks the largest gain"),
    (Credulous(4), "What is no theta or support is refused"),
    (WholeSection(-np.ones(4), np.arange(1.0, 5.0)), "A section has the values"),
    (Raising(4), "No action is longer"),
]


@pytest.mark.parametrize(
    ("broken", "promise"), BROKEN, ids=[type(broken).__name__ for broken, _ in BROKEN]
)
def test_a_broken_promise_is_named(
    broken: sb.ActionSet, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(broken, Forgetful):  # only a set in the table is read back
        monkeypatch.setitem(sb.ActionSet.kinds, "forgetful", Forgetful)
        monkeypatch.setattr(Forgetful, "kind", "forgetful")
    with pytest.raises(ContractError, match=r"Not so: .*seed=3") as raised:
        check_action_set(broken, seed=3)
    assert promise in raised.value.promise
    assert isinstance(raised.value, (sb.SparseBanditsError, AssertionError))


def test_the_message_holds_what_shows_it() -> None:
    with pytest.raises(ContractError, match=r"theta=\[.*support=\[.*LpBall|TooLong\("):
        check_action_set(TooLong(4))


def test_it_needs_no_asserts_and_no_test_framework() -> None:
    code = (
        "import sys, sparsebandits as sb\n"
        "print([name for name in ('pytest', 'hypothesis') if name in sys.modules])\n"
        "sb.LpBall._respond = lambda ball, theta, indices: 2 * theta\n"
        "sb.testing.check_action_set(sb.LpBall(3))"
    )
    ran = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert ran.stdout == "[]\n"
    assert ran.returncode == 1
    assert "ContractError: No action is longer" in ran.stderr


def test_arguments_are_checked() -> None:
    ball: Any = "ball"
    with pytest.raises(TypeError, match="action_set must be an action set"):
        check_action_set(ball)
    with pytest.raises(ValueError, match="sparsity"):
        check_action_set(sb.LpBall(3), sparsity=4)
    with pytest.raises(ValueError, match="seed"):
        check_action_set(sb.LpBall(3), seed=-1)


def test_many_coordinates_and_one() -> None:
    check_action_set(sb.Box(-np.ones(40), np.ones(40)), sparsity=5)
    check_action_set(sb.LpBall(1))
    check_action_set(sb.Ellipsoid(MATRIX).restrict([0, 2, 3]), sparsity=2)
