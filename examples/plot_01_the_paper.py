"""
The paper in five minutes
=========================

*Learning to Sparsify Stochastic Linear Bandits* asks: there are d knobs, each try may turn at
most H of them, and a try x earns theta*·x + noise with theta* unknown. Which few knobs should be
turned, and how far?

Its algorithm APSEE explores each knob in turn and estimates theta*. Once the gap between the H-th
and the next knob is larger than what the noise could fake, it locks the best H for good. We run
it as printed, with a sharper bound that is still valid, without any gap test, and beside the
policy that this library recommends.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

STEPS = 20_000  # quick: 400
TRIALS = 6  # quick: 2

# %%
# The paper's own setting: 20 knobs, at most 5 at once, actions in the unit ball, noise 0.5.

ball = sb.LpBall(dim=20)
world = sb.LinearEnvironment(
    action_set=ball, theta_star=sb.UniformCube(), noise=sb.Gaussian(sigma=0.5)
)
policies = {
    "APSEE as printed": sb.APSEE(action_set=ball, sparsity=5, sigma=0.5),
    "APSEE, a sharper valid bound": sb.APSEE(
        action_set=ball, sparsity=5, sigma=0.5, confidence="pairwise"
    ),
    "no gap test": sb.CompactAPSEEG(action_set=ball, sparsity=5, schedule="linear"),
    "SparseThompson, sigma not told": sb.SparseThompson(action_set=ball, sparsity=5),
}
runs = sb.simulate(list(policies.values()), world, horizon=STEPS, trials=TRIALS, seed=0)

# %%
# All policies saw the same theta* and the same noise. Regret is what the best five knobs would
# have earned, minus what was earned. A straight line in the left picture is a learner that has
# not begun to use what it knows: where no trial has locked, the first two are the same line. In
# the right picture the slope is the power of T.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, run), style in zip(zip(policies, runs, strict=True), ("-", "--", "-", "-"), strict=True):
    mean = run.regret.mean(axis=0)
    left.plot(run.steps, mean, style, label=name)
    right.loglog(run.steps, mean, style)
left.set(xlabel="step t", ylabel="regret", title=f"mean of {TRIALS} trials")
right.set(xlabel="step t", title="the same, both axes logarithmic")
left.legend(frameon=False)
plt.show()

# %%
# Why is the first one a straight line? The planner says it before the first step is taken.

setting = sb.plan(ball, sparsity=5, sigma=0.5, delta=0.05, horizon=STEPS)
for sentence in setting.advice:
    print("-", sentence)

# %%
# The arithmetic behind those sentences: what the gap of the estimate must exceed after T steps,
# by each bound, against the gaps that theta* really has.

names = [lock.confidence for lock in setting.locks]
figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
axis.barh(names, [lock.threshold for lock in setting.locks], height=0.45, color="tab:blue")
axis.axvspan(
    setting.gap_low,
    setting.gap_high,
    color="tab:orange",
    alpha=0.4,
    zorder=0,
    label="gaps of 80% of all theta*",
)
axis.axvline(setting.gap_median, color="tab:orange", label="the median gap")
axis.set(xscale="log", xlabel=f"what the gap must exceed within {STEPS:,} steps")
axis.invert_yaxis()
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# The same in one table: share of trials that locked a support, and regret at the end.

for name, run in zip(policies, runs, strict=True):
    end = run.regret[:, -1]
    error = end.std(ddof=1) / np.sqrt(TRIALS)
    print(f"{name:32} locked {run.locked_share:4.0%}   regret {end.mean():8,.0f} ± {error:,.0f}")

# %%
# ``make reproduce`` reruns every figure of the paper so, and judges each of its claims:
# :doc:`the rerun </rerun>`.
