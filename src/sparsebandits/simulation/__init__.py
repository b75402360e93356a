"""The simulator: it alone holds both the policy and theta*."""

from sparsebandits.simulation.record import Run, log_spaced_steps
from sparsebandits.simulation.regret import BENCHMARKS, Benchmark
from sparsebandits.simulation.simulator import simulate

__all__ = ["BENCHMARKS", "Benchmark", "Run", "log_spaced_steps", "simulate"]
