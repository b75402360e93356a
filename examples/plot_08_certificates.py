"""
Reading a certificate, planning an experiment
=============================================

How sure is a learner of its few knobs, when can it be sure, and what should be changed so that it
will be in time? ``plan`` answers before the first step, ``certificate`` while it runs.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

STEPS = 20_000  # quick: 1500
DRAWS = 100  # quick: 20

# %%
# Plan
# ----
# Eight knobs, at most two at once, noise 0.3, and theta* anything in the cube. In what share of
# such worlds would the gap test pass within T steps, by the bound that it uses?

ball = sb.LpBall(dim=8)
horizons = np.geomspace(200, 200_000, 13).astype(int)
plans = [sb.plan(ball, sparsity=2, sigma=0.3, delta=0.05, horizon=int(T)) for T in horizons]
figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
for k, lock in enumerate(plans[0].locks):
    shares = [plan.locks[k].lock_share for plan in plans]
    axis.semilogx(horizons, shares, marker="o", markersize=3, label=lock.confidence)
axis.set(xlabel="T, the steps there will be", ylabel="share of worlds that lock", ylim=(0, 1))
axis.legend(title="bound", frameon=False)
plt.show()

# %%
# In words, for 2,000 steps:

for sentence in sb.plan(ball, sparsity=2, sigma=0.3, delta=0.05, horizon=2000).advice:
    print("-", sentence)

# %%
# A certificate with a proof
# --------------------------
# The paper's policy keeps a gap (by how much the second knob is ahead of the third, by the
# estimate) and a threshold (how much of that the noise could have faked). When the first exceeds
# the second the support is locked, and wrong with a probability of at most delta.

rng = np.random.default_rng(3)
theta = np.array([0.9, -0.7, 0.35, 0.3, -0.2, 0.1, 0.05, 0.0])
policy = sb.APSEE(action_set=ball, sparsity=2, sigma=0.3, delta=0.05, confidence="pairwise")
learner = policy.start(seed=0)
steps, gaps, thresholds, locked_at = [], [], [], None
for step in range(1, STEPS + 1):
    decision = learner.ask()
    learner.tell(decision, theta @ decision.action + 0.3 * rng.standard_normal())
    if step % 8 == 0:
        certificate = learner.certificate()
        steps.append(step)
        gaps.append(certificate.gap)
        thresholds.append(certificate.threshold)
        if certificate.locked:
            locked_at = step
            break

figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
axis.plot(steps, gaps, label="gap of the estimate")
axis.plot(steps, thresholds, label="threshold")
axis.axhline(0.35, color="black", linewidth=1, label="the true gap")
if locked_at is not None:
    axis.axvline(locked_at, color="tab:green", label=f"locked: {learner.support}")
axis.set(xlabel="step", ylim=(0, 1.5))
axis.legend(frameon=False)
plt.show()
print(certificate)

# %%
# Would it have been in time? Asked early, with the steps that are left, it says so in words.

early = policy.start(seed=0)
for _ in range(80):
    decision = early.ask()
    early.tell(decision, theta @ decision.action + 0.3 * rng.standard_normal())
print(early.certificate(horizon=50).warning)

# %%
# A certificate without one
# -------------------------
# ``SparseThompson`` needs neither sigma nor a gap and earns meanwhile. What it says is a
# posterior: the share of worlds, of those that its model holds possible, whose best two knobs are
# these. It is not a bound that holds for every theta*.

learner = sb.SparseThompson(action_set=ball, sparsity=2).start(seed=0)
asked, probability = [], []
for step in range(1, min(STEPS, 2000) + 1):
    decision = learner.ask()
    learner.tell(decision, theta @ decision.action + 0.3 * rng.standard_normal())
    if step in {2**k for k in range(4, 12)}:
        asked.append(step)
        probability.append(learner.certificate(draws=DRAWS).probability)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.semilogx(asked, probability, marker="o")
left.set(xlabel="rewards", ylabel="probability that its two are the best", ylim=(0, 1.02))
rows = sorted(learner.summary(draws=DRAWS), key=lambda row: row.index)
right.bar([row.name for row in rows], [row.inclusion for row in rows])
right.set(xlabel="knob", ylabel="probability of being in the best two", ylim=(0, 1.02))
plt.show()
print(learner.summary(draws=DRAWS))
