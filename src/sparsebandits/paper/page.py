"""The report as self-contained HTML pages: no script, no network, readable on paper."""

import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.errors import SparseBanditsError
from sparsebandits.paper.claim import VERDICTS, Claim
from sparsebandits.paper.experiment import Experiment, Outcome, Size
from sparsebandits.paper.self_check import Check
from sparsebandits.paper.verdicts import FAMILY, LEVEL
from sparsebandits.plotting.figure import Figure

if TYPE_CHECKING:
    from jinja2 import Environment

PAPER = "Learning to Sparsify Stochastic Linear Bandits"

MARKS = dict(zip(VERDICTS, ("holds", "changed", "fails", "open"), strict=True))
"""The class in the style sheet of each verdict."""


@dataclass(frozen=True)
class Section:
    """One experiment and what it showed."""

    experiment: Experiment
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class Colophon:
    """How the report was made."""

    version: str
    packages: dict[str, str]
    python: str
    machine: str
    written: str
    seconds: float
    seed: int
    workers: int
    size: Size


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that the pages and summary.json say; while it is made, what is still to come."""

    ids: tuple[str, ...]
    sections: tuple[Section, ...]
    lemmas: tuple[Claim, ...]
    to_come: dict[str, str]
    """Titles by id."""
    checks: tuple[Check, ...]
    """The judges, tried on data made to hold and made to fail."""
    colophon: Colophon

    @property
    def of_paper(self) -> list[Section]:
        """What reruns the paper."""
        return [section for section in self.sections if not section.experiment.ours]

    @property
    def ours(self) -> list[Section]:
        """What is not in the paper."""
        return [section for section in self.sections if section.experiment.ours]

    @property
    def _every(self) -> list[Claim]:
        return [*(claim for each in self.sections for claim in each.outcome.claims), *self.lemmas]

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims; what we say ourselves has no part in their count."""
        return [claim for claim in self._every if not claim.is_ours]

    @property
    def our_claims(self) -> list[Claim]:
        """What we say ourselves, wherever it stands."""
        return [claim for claim in self._every if claim.is_ours]

    @property
    def scenarios(self) -> list[Claim]:
        """What we say about the recommended policy, on the page that is not the paper's."""
        return [claim for section in self.ours for claim in section.outcome.claims]

    def counts(self) -> dict[str, int]:
        """Return how many of the paper's claims have each verdict."""
        counts = Counter[str](claim.verdict for claim in self.claims)
        return {verdict: counts[verdict] for verdict in MARKS}

    def held(self) -> int:
        """Return how many of our own claims hold."""
        return held(self.our_claims)

    def to_dict(self) -> dict[str, Any]:
        """Return summary.json."""
        return {
            "paper": PAPER,
            **asdict(self.colophon),
            "quick": self.colophon.size == "quick",
            "experiments": list(self.ids),
            "to_come": list(self.to_come),
            "figures": {
                figure.id: {
                    "label": figure.label,
                    "experiment": section.experiment.id,
                    "title": figure.title,
                    "notes": list(figure.notes),
                }
                for section in self.sections
                for figure in section.outcome.figures
            },
            "claims": [claim.to_dict() for claim in self.claims],
            "ours": [claim.to_dict() for claim in self.our_claims],
            "counts": self.counts(),
            "judges": [asdict(check) for check in self.checks],
            "tables": {
                section.experiment.id: [asdict(table) for table in section.outcome.tables]
                for section in self.sections
                if section.outcome.tables
            },
        }


def held(claims: list[Claim]) -> int:
    """Return how many of them hold."""
    return sum(claim.verdict == "holds" for claim in claims)


def render_pages(report: Report, figures: Path) -> dict[str, str]:
    """Return index.html, and field.html if there is anything of our own, with the SVGs inlined."""
    pages = _templates()
    names = ["index.html", *(["field.html"] if report.ours else [])]
    known = {
        "report": report,
        "paper": PAPER,
        "recommended": RECOMMENDED,
        "marks": MARKS,
        "held": held,
        "family": FAMILY,
        "level": LEVEL,
        "inline": lambda figure: inline_svg(figures / f"{figure.id}.svg", figure),
    }
    return {name: pages.get_template(name).render(known) for name in names}


@cache
def _templates() -> "Environment":
    try:
        import jinja2
    except ModuleNotFoundError:
        raise SparseBanditsError(
            "The report needs Jinja2; install it with: pip install 'sparsebandits[paper]'"
        ) from None
    return jinja2.Environment(
        loader=jinja2.PackageLoader("sparsebandits.paper"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def inline_svg(path: Path, figure: Figure) -> str:
    """Return a drawing without the XML prolog, its ids made unique, because figures share a page.

    The caller's template marks it as safe: it is our own drawing.
    """
    drawn = path.read_text(encoding="utf-8")
    prefix = figure.id.replace(".", "-")
    inner = drawn[drawn.index("<svg") :]
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", inner)
