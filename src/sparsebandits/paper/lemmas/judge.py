"""Every lemma and proposition of the paper, and the steps of its proofs, with verdicts."""

from collections.abc import Callable, Iterator

import numpy as np

from sparsebandits.paper.claim import Claim
from sparsebandits.paper.lemmas import (
    ball_intersections,
    estimation,
    minimax,
    proofs,
    sets,
    submodularity,
    support_tests,
    warmup,
)
from sparsebandits.validation import as_integer

Group = Callable[[np.random.Generator, bool], Iterator[Claim]]


def lemma_claims(
    seed: int, quick: bool, progress: Callable[[int, int], None] | None = None
) -> list[Claim]:
    """Measure every lemma and proposition, and judge it by what was measured.

    Quick takes fewer runs and instances: seconds instead of a minute. `progress` is called with
    (done, total). The claims follow the paper: estimation, geometry, steps of the proofs.
    """
    seeds = np.random.SeedSequence(as_integer("seed", seed, minimum=0)).spawn(len(GROUPS))
    claims: list[Claim] = []
    for done, (group, child) in enumerate(zip(GROUPS, seeds, strict=True), start=1):
        claims += group(np.random.default_rng(child), quick)
        if progress is not None:
            progress(done, len(GROUPS))
    return claims


GROUPS: tuple[Group, ...] = (
    estimation.coverage,
    estimation.sum_of_subgaussian,
    estimation.union_over_cycles,
    support_tests.top_h_consistency,
    support_tests.top_h_locks,
    support_tests.greedy_consistency,
    warmup.warmup_simulated,
    warmup.warmup_greedy,
    warmup.warmup_algebra,
    sets.lipschitz_value,
    sets.lipschitz_gradient,
    sets.normalised_vectors,
    sets.sorting,
    sets.ellipsoid_solution,
    submodularity.gamma_bounds,
    submodularity.positive_gamma,
    submodularity.greedy_ratio,
    sets.random_bases,
    proofs.exploration_regret,
    proofs.support_norm,
    proofs.cycle_counts,
    proofs.greedy_steps,
    ball_intersections.gamma_on_strongly_convex_sets,
    minimax.matches_minimax,
)
"""What is measured, each with a random stream of its own."""
