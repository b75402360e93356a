"""HiGHS at arm's length: one lazy import, common options, and a second try when a solve fails."""

import importlib
from typing import Any

from sparsebandits.errors import SolverError

# HiGHS's own codes for its array interface.
COLUMNWISE, ROWWISE = 1, 2
MINIMIZE, MAXIMIZE = 1, -1

_TOLERANCE = 1e-9


def load_highs() -> Any:
    """Import ``highspy`` on first use; the result is untyped because its stubs are incomplete."""
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise SolverError(
            "Polytopes are solved by HiGHS, and the Python package 'highspy' could not be "
            f"imported ({error}); install it with: pip install highspy"
        ) from error


def new_solver(**options: bool | int | float | str) -> Any:
    """Return a silent, single-threaded HiGHS solver with tolerances of 1e-9.

    Parameters
    ----------
    **options
        HiGHS options set on top of the common ones.

    """
    solver = load_highs().Highs()
    common: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "random_seed": 0,
        "small_matrix_value": 1e-12,
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
    }
    for name, value in {**common, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def run_solver(solver: Any) -> None:
    """Run HiGHS, also where other code in this process has given it more threads.

    HiGHS refuses to run when its global scheduler has another number of threads than asked for;
    asking for 0 takes the scheduler as it is.
    """
    if solver.run() == load_highs().HighsStatus.kError:
        solver.setOptionValue("threads", 0)
        solver.run()


def solve_to_optimum(solver: Any) -> None:
    """Solve; if that fails, solve once more from nothing with HiGHS's own scaling and presolve."""
    optimal = load_highs().HighsModelStatus.kOptimal
    run_solver(solver)
    if solver.getModelStatus() == optimal:
        return
    careful = {"presolve": "choose", "simplex_scale_strategy": 2, "simplex_strategy": 0}
    usual = {name: solver.getOptionValue(name)[1] for name in careful}
    for name, value in careful.items():
        solver.setOptionValue(name, value)
    solver.clearSolver()
    run_solver(solver)
    # The next call must not see that this one was difficult.
    for name, value in usual.items():
        solver.setOptionValue(name, value)
    status = solver.getModelStatus()
    if status != optimal:
        raise SolverError(
            f"HiGHS ended with the status '{solver.modelStatusToString(status)}' on the dual of a "
            "linear program over {x : G x <= g}, where an optimum was needed; 'Infeasible' means "
            "that the polytope is unbounded, 'Unbounded' that it is empty: check that it is "
            "bounded, contains 0 and is not badly scaled."
        )
