"""Runs made to hold and made to fail, for the judges to be judged by."""

import numpy as np

from sparsebandits.simulation import Run, log_spaced_steps


def made_run(
    exponent: float,
    *,
    trials: int = 30,
    horizon: int = 10**5,
    locked: int = 0,
    wrong: int = 0,
    warm_up: float = 0.0,
    lock_step: int = 40,
    dim: int = 2,
    policy: str = "apsee",
) -> Run:
    """Make a run whose regret grows exactly like t^exponent, with another constant in each trial.

    Parameters
    ----------
    exponent : float
    trials, horizon, dim : int
    locked, wrong : int
        So many of the trials locked a support at `lock_step`, and so many of those a wrong one.
    warm_up : float
        Regret that was there at the lock, besides.
    lock_step : int
    policy : str
        The kind of policy that the run is said to be of.

    Examples
    --------
    >>> run = made_run(0.5, trials=3, horizon=100, locked=2, wrong=1)
    >>> run.locked_at.tolist(), run.support_correct.tolist()
    ([40.0, 40.0, nan], [False, True, False])
    """
    steps = log_spaced_steps(horizon)
    t = steps.astype(float)
    constants = np.random.default_rng(0).uniform(1, 3, (trials, 1))
    regret = constants * t**exponent + warm_up * np.minimum(t / lock_step, 1.0)
    order = np.arange(trials)
    return Run(
        steps=steps,
        theta_star=np.tile(np.linspace(2.0, 1.0, dim), (trials, 1)),
        regret=regret,
        locked_at=np.where(order < locked, float(lock_step), np.nan),
        support_correct=(order >= wrong) & (order < locked),
        theta_error=np.zeros_like(regret),
        optimum=np.full(trials, np.nan),
        optimal_share=np.zeros_like(regret),
        label={"benchmark": "exact optimum", "policy": policy, "seed": 0},
    )
