"""One claim of the paper, next to what was measured, with a verdict that follows from it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sparsebandits.errors import InvalidValueError

Verdict = Literal["holds", "holds with the stated change", "fails", "not testable"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
CHANGED: Verdict = "holds with the stated change"

OURS = "ours"
"""The label of what is not the paper's."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper, or of ours, and its verdict, computed and never typed in."""

    id: str
    label: str
    """In the paper's source, such as "lemma:ols-bound-hp"; "ours" where it is not the paper's."""
    statement: str
    measured: str
    """In one sentence, with the numbers and their interval."""
    verdict: Verdict
    value: float | None = None
    """The figure behind the verdict, and its 95% interval."""
    low: float | None = None
    high: float | None = None
    change: str = ""
    """What had to be changed, where the claim holds with a change."""
    experiment: str = ""
    """The id of the experiment that it comes from."""
    details: dict[str, Any] | None = None
    """JSON-safe: counts, instances, settings."""
    otherwise: str = ""
    """What would have made the verdict come out otherwise."""
    brief: str = ""
    """The figures in a few words, for a table of many claims; `measured` serves where it is not."""

    @property
    def is_ours(self) -> bool:
        """Whether we say it and not the paper: counted apart."""
        return self.label == OURS

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InvalidValueError(f"verdict must be one of {VERDICTS}, got {self.verdict!r}.")
        if (self.verdict == CHANGED) != bool(self.change):
            raise InvalidValueError(
                f"Claim {self.id}: a change is stated exactly when the verdict is 'holds with the "
                f"stated change'; got verdict {self.verdict!r} and change {self.change!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as a JSON-safe record."""
        return asdict(self)
