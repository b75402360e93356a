"""What every figure states about its runs."""

from collections.abc import Sequence

import numpy as np

from sparsebandits.simulation import Run


def run_note(label: str, run: Run) -> str:
    """Say the share of runs that locked and were right, or that none did."""
    trials = run.regret.shape[0]
    horizon = int(run.steps[-1])
    locked = int(np.isfinite(run.locked_at).sum())
    if locked == 0:
        return f"{label}: never locks (0 of {trials} runs by T = {horizon:,})"
    right = int(run.support_correct.sum())
    counts = f"{locked} of {trials} runs locked by T = {horizon:,}"
    return f"{label}: {counts}, {right} on the right support"


def setting_note(runs: Sequence[Run], seed: int) -> str:
    """Say benchmark, seed and trials."""
    benchmarks = sorted({str(run.label["benchmark"]) for run in runs})
    trials = sorted({run.regret.shape[0] for run in runs})
    counts = " / ".join(str(count) for count in trials)
    return f"Regret against the {' / '.join(benchmarks)}; {counts} trials; seed {seed}"
