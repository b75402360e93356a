"""HiGHS at arm's length: one lazy import, common options, and a second try when a solve fails."""

import importlib
from typing import Any

import numpy as np
from scipy import sparse

from sparsebandits.errors import SolverError
from sparsebandits.validation import FloatArray

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
    """Return a silent, single-threaded HiGHS solver with tolerances of 1e-9, and these options."""
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


def pass_rows(
    solver: Any,
    costs: FloatArray,
    rows: FloatArray,
    limits: tuple[FloatArray | float, FloatArray],
    box: tuple[FloatArray | float, FloatArray | float] = (-np.inf, np.inf),
    *,
    binary: int = 0,
) -> None:
    """Give the solver max costs·x with rows x within limits and x in a box, the last few binary."""
    matrix = sparse.csc_array(rows)
    kinds = np.repeat(np.array([0, 1], dtype=np.int32), [costs.size - binary, binary])
    columnwise, maximize = 1, -1  # HiGHS's own codes
    solver.passModel(
        costs.size,
        rows.shape[0],
        matrix.nnz,
        columnwise,
        maximize,
        0.0,
        costs,
        *(np.broadcast_to(side, costs.size).astype(np.float64) for side in box),
        *(np.broadcast_to(limit, rows.shape[0]).astype(np.float64) for limit in limits),
        *(part.astype(np.int32) for part in (matrix.indptr, matrix.indices)),
        matrix.data,
        kinds,
    )


def run_solver(solver: Any) -> None:
    """Run HiGHS, also where other code in this process has given it more threads.

    HiGHS refuses to run when its global scheduler has another number of threads than asked for;
    asking for 0 takes the scheduler as it is.
    """
    if solver.run() == load_highs().HighsStatus.kError:
        solver.setOptionValue("threads", 0)
        solver.run()


def solve_to_optimum(solver: Any, *, may_be_unbounded: bool = False) -> bool:
    """Solve; if that fails, solve once more from nothing with HiGHS's own scaling and presolve.

    Returns True, or False where the program is unbounded and may be.
    """
    states = load_highs().HighsModelStatus
    optimal = states.kOptimal
    run_solver(solver)
    if solver.getModelStatus() == optimal:
        return True
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
    if may_be_unbounded and status in (states.kUnbounded, states.kUnboundedOrInfeasible):
        return False
    if status != optimal:
        raise SolverError(
            f"HiGHS ended with the status '{solver.modelStatusToString(status)}' on the dual of a "
            "linear program over {x : G x <= g}, where an optimum was needed; 'Infeasible' means "
            "that the polytope is unbounded, 'Unbounded' that it is empty: check that it is "
            "bounded, has actions on this support and is not badly scaled."
        )
    return True
