"""Beside the peers: d inputs, at most 5 on, one suggestion at a time; regret and CPU seconds.

    make peers                                                 all of it: hours
    python benchmarks/peers.py --player sparse-thompson --seeds 2 --trials 20
    python benchmarks/peers.py --table docs/peers.md

Every result is a line of the results file as soon as it is there: interrupt the command and run it
again, and it goes on where it was. A line counts while the version of what played is the same; for
players of this repository that is a digest of its code, so that they play anew when it changes.
What is played stands in `side_by_side/problems.py`, who plays in `side_by_side/players`.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from side_by_side.match import CHECKPOINTS, play
from side_by_side.players import PLAYERS, Entry
from side_by_side.problems import DIMS, REWARDS, TRIALS, Problem
from side_by_side.results import Key, Results
from side_by_side.tables import all_tables, brief_table

from sparsebandits.comparison.marked_part import rewrite_between

BEGIN, END = "<!-- peers -->", "<!-- /peers -->"
BRIEF_BEGIN, BRIEF_END = "<!-- peers: brief -->", "<!-- /peers: brief -->"


class Job(NamedTuple):
    name: str
    entry: Entry
    version: str
    problem: tuple[str, int, int]
    trials: int

    @property
    def key(self) -> Key:
        return (self.name, *self.problem)


def jobs(asked: argparse.Namespace) -> Iterator[Job]:
    """Yield what was asked for: the quick ones first, then the slow ones seed by seed."""
    for name in asked.player:
        entry = PLAYERS[name]
        version = entry.version()
        if version is None:
            print(f"{entry.label} is left out: {entry.package} is not installed; run make peers.")
            continue
        trials = entry.trials if asked.trials is None else asked.trials
        for reward in asked.reward:
            if entry.rewards and reward not in entry.rewards:
                continue
            seeds = entry.seeds if REWARDS[reward].is_linear else entry.curved_seeds
            for seed in range(seeds if asked.seeds is None else asked.seeds):
                for dim in asked.dim:
                    yield Job(name, entry, version, (reward, dim, seed), trials)


def urgency(job: Job) -> tuple[bool, bool, int]:
    reward, _, seed = job.problem
    return job.entry.is_slow, job.entry.is_slow and not REWARDS[reward].is_linear, seed


def run(asked: argparse.Namespace, results: Results) -> None:
    done = results.read()

    def is_done(job: Job) -> bool:
        record = done.get(job.key)
        return (
            record is not None
            and record["version"] == job.version
            and record["trials"] >= job.trials
        )

    todo = sorted((job for job in jobs(asked) if not is_done(job)), key=urgency)
    for place, job in enumerate(todo, start=1):
        reward, dim, seed = job.problem
        player = job.entry.player(dim, seed)
        names = {"player": job.name, "reward": reward, "dim": dim, "seed": seed}
        for outcome in play(player, Problem(reward, dim, seed), job.trials):
            # What is quick is written once, when it is done.
            if job.entry.is_slow or outcome["trials"] == job.trials:
                results.add({**names, "version": job.version, **outcome})
        reached = zip(
            CHECKPOINTS, outcome["regret"], outcome["simple"], outcome["seconds"], strict=False
        )
        cells = [f"{n}: {r:.0f} / {s:.2f}, {1e3 * t:.3g} ms" for n, r, s, t in reached]
        head = f"{place}/{len(todo)}  {job.name}, {reward}, d={dim}, seed {seed}:"
        print(head, "; ".join(cells), flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--player", action="append", choices=PLAYERS, help="all unless given")
    parser.add_argument("--reward", action="append", choices=REWARDS, help="all unless given")
    parser.add_argument("--dim", action="append", type=int, help="50 and 20 unless given")
    parser.add_argument("--seeds", type=int, help="0 to N - 1; unless given as players.py says")
    parser.add_argument("--trials", type=int, help=f"at most {TRIALS}; unless given as there")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--tidy", action="store_true", help="only sort the results")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help=f"only write it between {BEGIN} and {END}"
    )
    parser.add_argument(
        "--brief", type=Path, metavar="FILE", help=f"only write the short one after {BRIEF_BEGIN}"
    )
    asked = parser.parse_args()
    if asked.trials is not None and not 1 <= asked.trials <= TRIALS:
        parser.error(f"--trials must be between 1 and {TRIALS}, got {asked.trials}")
    asked.player, asked.reward = asked.player or list(PLAYERS), asked.reward or list(REWARDS)
    asked.dim = asked.dim or list(DIMS)
    return asked


def main() -> None:
    asked = parsed()
    results = Results(asked.results)
    if asked.table is not None:
        rewrite_between(asked.table, BEGIN, END, all_tables(results.read()))
    elif asked.brief is not None:
        rewrite_between(asked.brief, BRIEF_BEGIN, BRIEF_END, brief_table(results.read()))
    elif asked.tidy:
        results.tidy(PLAYERS)
    else:
        run(asked, results)


if __name__ == "__main__":
    main()
