"""What was measured, as tables of a page."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from side_by_side.match import CHECKPOINTS
from side_by_side.players import PLAYERS
from side_by_side.problems import DIMS, REWARDS
from side_by_side.results import Key
from sparsebandits.comparison.intervals import Interval
from sparsebandits.comparison.text_table import number

OURS = "sparse-thompson"
BRIEF = 50
"""After how many trials the brief table looks: as many as were affordable of every peer."""

Records = dict[Key, dict[str, Any]]


def all_tables(records: Records) -> str:
    """Return a table for every problem, and what the difference is on the same seeds."""
    parts = [
        problem_table(records, reward, dim)
        for reward in REWARDS
        for dim in DIMS
        if any(key[1:3] == (reward, dim) for key in records)
    ]
    return "\n".join([*parts, difference_table(records)])


def problem_table(records: Records, reward: str, dim: int) -> str:
    """Return cumulative and simple regret of every player on one problem."""
    lines = []
    for name, entry in PLAYERS.items():
        runs = runs_of(records, name, reward, dim)
        if not runs:
            continue
        cells = [regret_cell(runs, place, len(runs)) for place in range(len(CHECKPOINTS))]
        lines.append((entry.label, milliseconds(runs.values()), str(len(runs)), *cells))
    title = f"**{reward}: {REWARDS[reward].about}; d = {dim}**\n\n"
    headings = ("", "CPU ms", "seeds", *(f"{count} trials" for count in CHECKPOINTS))
    return title + markdown(headings, lines)


def regret_cell(runs: dict[int, dict[str, Any]], place: int, seeds: int) -> str:
    """Return cumulative / simple regret; how many seeds, where fewer went so far."""
    there = [run for run in runs.values() if len(run["regret"]) > place]
    if not there:
        return ""
    texts = [
        Interval.of(np.array([run[what][place] for run in there])).text()
        for what in ("regret", "simple")
    ]
    return " / ".join(texts) + (f" ({len(there)} seeds)" if len(there) < seeds else "")


def brief_table(records: Records) -> str:
    """Return one table for a README: cumulative regret of each, and ours on the same seeds."""
    dim, place = DIMS[0], CHECKPOINTS.index(BRIEF)
    lines = []
    for name, entry in PLAYERS.items():
        by_reward = {reward: runs_of(records, name, reward, dim) for reward in REWARDS}
        everything = [run for runs in by_reward.values() for run in runs.values()]
        if everything:
            cells = [
                beside_ours(runs, runs_of(records, OURS, reward, dim), place, name == OURS)
                for reward, runs in by_reward.items()
            ]
            lines.append((entry.label, milliseconds(everything), *cells))
    title = (
        f"Regret after {BRIEF} trials, d = {dim}, at most 5 on, noise 0.5; in brackets ours on the "
        "same seeds and their number.\n\n"
    )
    return title + markdown(("", "CPU ms", *REWARDS), lines)


def beside_ours(
    theirs: dict[int, dict[str, Any]], ours: dict[int, dict[str, Any]], place: int, is_ours: bool
) -> str:
    there = [seed for seed, run in theirs.items() if len(run["regret"]) > place]
    if not there:
        return ""
    mean = Interval.of(np.array([theirs[seed]["regret"][place] for seed in there])).text()
    both = [ours[seed]["regret"][place] for seed in there if seed in ours]
    if is_ours or not both:
        return f"{mean} ({len(there)})"
    return f"{mean} ({number(float(np.mean(both)))}; {len(both)})"


def difference_table(records: Records) -> str:
    """Return our regret minus a peer's on the same theta and noise, and how often the time."""
    lines = []
    for reward in REWARDS:
        for dim in DIMS:
            ours = runs_of(records, OURS, reward, dim)
            for name, entry in PLAYERS.items():
                theirs = runs_of(records, name, reward, dim)
                both = sorted(ours.keys() & theirs.keys())
                if entry.package is None or not both:
                    continue
                faster = times_faster(ours, theirs, both)
                cells = [difference_cell(ours, theirs, place) for place in range(len(CHECKPOINTS))]
                which = f"{reward}, d = {dim}"
                lines.append((which, entry.label, number(faster), str(len(both)), *cells))
    headings = ("", "minus", "its time / ours", "seeds", *(f"{n} trials" for n in CHECKPOINTS))
    title = "**SparseThompson minus a peer, seed by seed (below 0: ours has less regret)**\n\n"
    return title + markdown(headings, lines)


def times_faster(
    ours: dict[int, dict[str, Any]], theirs: dict[int, dict[str, Any]], seeds: list[int]
) -> float:
    """Return how often our CPU time theirs is, over the same trials: the first cost us most."""
    last = [min(len(ours[seed]["seconds"]), len(theirs[seed]["seconds"])) - 1 for seed in seeds]
    spent = [
        np.mean([runs[seed]["seconds"][place] for seed, place in zip(seeds, last, strict=True)])
        for runs in (theirs, ours)
    ]
    return float(spent[0] / spent[1])


def milliseconds(runs: Iterable[dict[str, Any]]) -> str:
    """Return the mean CPU time of a suggestion in whole runs."""
    return number(1e3 * float(np.mean([run["seconds"][-1] for run in runs])))


def difference_cell(
    ours: dict[int, dict[str, Any]], theirs: dict[int, dict[str, Any]], place: int
) -> str:
    """Return the paired difference of cumulative and of simple regret."""
    both = [
        seed
        for seed in ours.keys() & theirs.keys()
        if min(len(ours[seed]["regret"]), len(theirs[seed]["regret"])) > place
    ]
    if not both:
        return ""
    return " / ".join(
        Interval.of(
            np.array([ours[seed][what][place] - theirs[seed][what][place] for seed in both])
        ).text(signed=True)
        for what in ("regret", "simple")
    )


def runs_of(records: Records, name: str, reward: str, dim: int) -> dict[int, dict[str, Any]]:
    """Return the runs of a player on a problem by their seeds, if they came to a checkpoint."""
    return {
        seed: record
        for (player, which, size, seed), record in sorted(records.items())
        if (player, which, size) == (name, reward, dim) and record["regret"]
    }


def markdown(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Lay out a table."""
    lines = [tuple(headings)]
    lines += [("---",) * len(lines[0]), *(tuple(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
