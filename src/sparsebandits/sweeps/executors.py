"""Where tasks run: in this process, or on the workers of Dask."""

from collections.abc import Callable, Generator

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.tasks import Outcome, Task, run_task

Take = Callable[[int], Task | None]
"""Called with the number of workers for the next task; None says that none is ready.

After None it is asked again once an outcome has been taken: the size of later chunks depends on
how long the first ones took. None with nothing under way is the end.
"""


Outcomes = Generator[tuple[Task, Outcome], None, None]


class SchedulerLostError(SweepError):
    """The scheduler of a cluster died or can no longer be reached."""


def execute(take: Take, *, workers: int = 1, cluster: str | None = None) -> Outcomes:
    """Run tasks and yield each with its run, or with its failure, in the order they finish.

    Parameters
    ----------
    take : function
        Gives the next task. Few are taken ahead, so that memory does not grow with their number.
    workers : int
        Processes of a local cluster; with one, everything runs in this process.
    cluster : str, optional
        The address of a running Dask scheduler, such as ``tcp://10.0.0.1:8786``.
    """
    if cluster is None and workers <= 1:
        return _in_process(take)
    from sparsebandits.sweeps.cluster import on_dask

    return on_dask(take, workers, cluster)


def _in_process(take: Take) -> Outcomes:
    while (task := take(1)) is not None:
        yield task, run_task(task)
