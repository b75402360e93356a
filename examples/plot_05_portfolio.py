"""
A portfolio: at most 10 of 100 assets
=====================================

Weights add up to 1, at most 10 assets are held, each with 2% to 12%, at most three of a sector.
First the optimisation alone, with a proof; then a fund that learns which assets to hold while it
holds them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

WEEKS = 400  # quick: 8

sectors = [
    "energy",
    "health",
    "banks",
    "retail",
    "chips",
    "metals",
    "media",
    "farms",
    "homes",
    "ports",
]
assets = [f"{sector} {k}" for sector in sectors for k in range(10)]
weights = sb.Budget(total=1.0, upper=[0.12] * 100, min_dose=0.02, spend_all=True, names=assets)
rules = sb.Supports(at_most=10, groups={tuple(assets[10 * i : 10 * i + 10]): 3 for i in range(10)})

# %%
# If the expected returns were known
# ----------------------------------
# Choosing the ten is the hard part ("the constraint is not convex" is where most tools stop). The
# answer comes with a proof.

rng = np.random.default_rng(0)
expected = 0.1 + 0.1 * np.repeat(rng.standard_normal(10), 10) + 0.3 * rng.standard_normal(100)
start = time.perf_counter()
best = sb.sparse_argmax(weights, expected, rules)
seconds = time.perf_counter() - start
print(f"{best.value:.3f}% a week with {len(best.support)} assets; proven: {best.is_exact}")
print(f"found and proven in {1000 * seconds:.0f} ms")

# %%
# They are not known
# ------------------
# A hundred private funds. One report of each is known, wrong by 0.3% either way; half of such a
# report is luck, so it is shrunk and serves as a belief that may be wrong by 0.2. After that only
# the basket as a whole reports, every week, up or down by 0.1%.

report = expected + 0.3 * rng.standard_normal(100)
belief = report.mean() + 0.5 * (report - report.mean())
policy = sb.SparseThompson(action_set=weights, sparsity=rules, prior_mean=belief, prior_scale=0.2)
learner = policy.start(seed=0)

held, gained = np.zeros((WEEKS, 100)), np.zeros(WEEKS)
for week in range(WEEKS):
    decision = learner.ask()
    learner.tell(decision, expected @ decision.action + 0.1 * rng.standard_normal())
    held[week] = decision.action
    gained[week] = expected @ decision.action
by_report = sb.sparse_argmax(weights, report, rules).action

figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
weeks = np.arange(1, WEEKS + 1)
for rate, label in (
    (best.value, "the best portfolio"),
    (gained, "the learner"),
    (expected @ by_report, "the best by the first reports, held for ever"),
    (expected.mean(), "all 100, equal weights"),
):
    axis.plot(weeks, np.cumsum(np.broadcast_to(rate, WEEKS)), label=label)
axis.set(xlabel="week", ylabel="expected gain so far, %")
axis.legend(frameon=False)
plt.show()

# %%
# What was held, by sector.

by_sector = held.reshape(WEEKS, 10, 10).sum(axis=2)
figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
axis.stackplot(weeks, by_sector.T, labels=sectors, colors=plt.get_cmap("tab10").colors)
axis.set(xlabel="week", ylabel="weight", xlim=(1, WEEKS), ylim=(0, 1))
axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Every portfolio kept every rule: that is the oracle's promise, and cheap to look at.

counts = (held > 0).reshape(WEEKS, 10, 10).sum(axis=2)
print("assets held, most:", int((held > 0).sum(axis=1).max()), " of one sector:", int(counts.max()))
print("weights, sum:", held.sum(axis=1).min().round(9), "to", held.sum(axis=1).max().round(9))
print("least weight that is not 0:", held[held > 0].min().round(3))
