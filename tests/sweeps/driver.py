"""Run one sweep in a process of its own, so that a test can kill it."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from sparsebandits.errors import SweepError
from sparsebandits.sweeps import engine
from tests.sweeps.small_cells import SEED, chunks_of, lints

CHUNKS = 16
CELL = lints(horizon=400, trials=2 * CHUNKS)
"""About 0.15 s for each of its chunks."""


def run(folder: Path, *, workers: int = 1, cluster: str | None = None) -> engine.Report:
    with chunks_of(2):
        return engine.run_chunks([CELL], SEED, folder, workers=workers, cluster=cluster)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cluster")
    options = parser.parse_args()
    engine.SMALL = 0.0
    try:
        report = run(options.folder, workers=options.workers, cluster=options.cluster)
    except SweepError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print(json.dumps(dataclasses.asdict(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
