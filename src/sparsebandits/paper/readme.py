"""The table of verdicts in `docs/rerun.md`, written from summary.json between two comments."""

import json
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sparsebandits.comparison.marked_part import rewrite_between
from sparsebandits.errors import InvalidValueError
from sparsebandits.paper.claim import VERDICTS
from sparsebandits.paper.table import IDS

BEGIN, END = "<!-- verdicts: begin -->", "<!-- verdicts: end -->"

ROUND = ("l2-ball", "l1.5-ball", "ellipsoid")
FLAT = ("l1-ball", "video")

ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "regret is sub-linear on the l2 ball, the l1.5 ball and the ellipsoid (T = 2 10^5)",
        tuple(f"{name}-sub-linear-long" for name in ROUND),
    ),
    ("its average falls monotonically", tuple(f"{name}-average-falls" for name in ROUND)),
    ("it is of order sqrt(T)", tuple(f"{name}-rate" for name in ROUND)),
    (
        "it is of order sqrt(T) once the right support is locked",
        tuple(f"{name}-after-lock" for name in ROUND),
    ),
    (
        "it is below the bounds of Theorems 1 and 2, at the paper's setting",
        tuple(f"{name}-theorem" for name in ROUND),
    ),
    (
        "the same where those bounds say something",
        tuple(f"{name}-theorem-quiet" for name in ROUND),
    ),
    ("order T^(2/3) on the l1 ball and the box", tuple(f"{name}-rate" for name in FLAT)),
    ("below the bound of Theorem 3 there", tuple(f"{name}-theorem" for name in FLAT)),
    (
        "floor(sqrt(c)) steps are necessary there",
        tuple(f"{name}-necessary-schedule" for name in FLAT),
    ),
    ("linear in d", ("dimensions-d",)),
    ("without H", ("dimensions-h",)),
    ("matches the minimax lower bound", ("matches-minimax",)),
    ("the basis does not matter", ("bases-*",)),
    ("the support is found within t*, for easy and hard theta*", ("support-recovery-*",)),
    ("the rates carry over to moving sets", ("time-varying-*",)),
    ("error bound of the least squares estimate", ("coverage-ols-bound",)),
    ("its proof, by a union bound", ("union-over-cycles",)),
    ("a passed gap test means the right support", ("consistency-top-h", "consistency-greedy")),
    ("APSEE never locks a wrong support", ("wrong-locks-paper",)),
    ("the displayed bound on gamma", ("submodularity-displayed-bound",)),
    ("gamma > 0 on every convex compact set", ("gamma-positive",)),
    ("gamma > 0 on every strongly convex set", ("gamma-positive-strongly-convex",)),
    ("sorting does not solve the l1.5 ball", ("no-sorting-on-l1.5",)),
    ("x* is Lipschitz in theta", ("lipschitz-gradient",)),
)
"""What the table calls it, and the ids of the claims behind it; * stands for anything."""


def write_table(readme: Path, folder: Path) -> None:
    """Rewrite what stands between the two comments of a file, from the summary in `folder`."""
    summary = _read_summary(folder / "summary.json")
    rewrite_between(readme, BEGIN, END, verdict_table(summary))


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidValueError(
            f"There is no summary to take the verdicts from ({error}); run make reproduce first."
        ) from None
    missing = set(IDS) - set(summary["experiments"]) | set(summary["to_come"])
    if summary["quick"] or missing:
        why = "a quick look" if summary["quick"] else f"without {', '.join(sorted(missing))}"
        raise InvalidValueError(
            f"{path} is {why}; the table needs the whole rerun: run make reproduce first."
        )
    return summary


def verdict_table(summary: dict[str, Any]) -> str:
    """Return the sentence of counts and the table, as Markdown."""
    claims, ours = summary["claims"], summary["ours"]
    counts = Counter(claim["verdict"] for claim in claims)
    words = ("hold", "hold with a stated change", "fail", "are not testable here")
    tally = [f"{counts[verdict]} {word}" for verdict, word in zip(VERDICTS, words, strict=True)]
    own = Counter(claim["verdict"] for claim in ours)
    ownly = [f"{own[v]} {word}" for v, word in zip(VERDICTS, words, strict=True) if own[v]]
    lines = [
        f"`make reproduce` (seed {summary['seed']}) judges {len(claims)} claims of the paper: "
        f"{', '.join(tally[:-1])} and {tally[-1]}. Of {len(ours)} that are ours and counted apart, "
        f"{' and '.join(ownly)}.",
        "",
        "| the paper says | verdict | measured |",
        "|---|---|---|",
    ]
    for text, patterns in ROWS:
        rows = [
            claim
            for pattern in patterns
            for claim in claims
            if fnmatchcase(claim["id"], pattern.replace("[", "[[]"))
        ]
        if rows:
            lines.append(f"| {text} | {_verdicts(rows)} | {_measured(rows)} |")
    return "\n".join(lines) + "\n"


def _verdicts(claims: list[dict[str, Any]]) -> str:
    counts = Counter(claim["verdict"] for claim in claims)
    if len(counts) == 1:
        return str(claims[0]["verdict"])
    return ", ".join(f"{verdict} ({counts[verdict]})" for verdict in VERDICTS if counts[verdict])


def _measured(claims: list[dict[str, Any]]) -> str:
    """Return the figures, those that are the same once."""
    where: dict[str, list[str]] = {}
    for claim in claims:
        where.setdefault(claim["brief"] or claim["measured"], []).append(claim["experiment"])
    if len({claim["experiment"] for claim in claims}) == 1:
        text = "; ".join(where)
    else:
        text = "; ".join(f"{', '.join(names)}: {brief}" for brief, names in where.items())
    # A bar would end the cell.
    return text.replace("|", "\\|").replace("\n", " ")
