"""One claim of the paper, next to what was measured, with a verdict that follows from it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sparsebandits.errors import InvalidValueError

Verdict = Literal["holds", "holds with the stated change", "fails", "not testable"]
VERDICTS: tuple[str, ...] = get_args(Verdict)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper and its verdict, computed and never typed in.

    Attributes
    ----------
    id : str
        Unique, lower case with dashes, such as "coverage-ols-bound".
    label : str
        The LaTeX label in the paper's source, such as "lemma:ols-bound-hp"; "ours" where the claim
        is not the paper's.
    statement : str
        What the paper says, or we do, in one sentence.
    measured : str
        What was measured, in one sentence with its numbers and their interval.
    value : float or None
        The figure behind the verdict.
    low, high : float or None
        Its 95% interval.
    verdict : str
        One of `VERDICTS`.
    change : str
        What had to be changed, where the claim holds with a change; else empty.
    experiment : str
        The id of the experiment that it comes from.
    details : dict
        JSON-safe extras: counts, instances, settings.
    """

    id: str
    label: str
    statement: str
    measured: str
    verdict: Verdict
    value: float | None = None
    low: float | None = None
    high: float | None = None
    change: str = ""
    experiment: str = ""
    details: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InvalidValueError(f"verdict must be one of {VERDICTS}, got {self.verdict!r}.")
        if (self.verdict == "holds with the stated change") != bool(self.change):
            raise InvalidValueError(
                f"Claim {self.id}: a change is stated exactly when the verdict is 'holds with the "
                f"stated change'; got verdict {self.verdict!r} and change {self.change!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as a JSON-safe record."""
        return asdict(self)
