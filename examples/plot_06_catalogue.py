"""
A catalogue of 100,000 items
============================

A shop shows ten of 100,000 items on its front page. Nothing is kept of items that were never
looked at, so that the learner fits into an e-mail.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

ITEMS = 100_000
VISITS = 1200  # quick: 60

# %%
# What is known beforehand is last year's popularity, which says something about what an item earns
# on the front page, and not all. Items that promise most are looked at first.

rng = np.random.default_rng(0)
worth = 0.1 * rng.standard_gamma(1.0, size=ITEMS)  # of showing an item; the learner has to find out
popularity = worth + 0.25 * rng.standard_normal(ITEMS)
front_page = sb.Box(np.zeros(ITEMS), np.ones(ITEMS))
belief = 0.1 + 0.14 * (popularity - popularity.mean())
policies = {
    "told last year's popularity": sb.SparseThompson(
        action_set=front_page, sparsity=10, prior_mean=belief, prior_scale=0.1
    ),
    "told nothing": sb.SparseThompson(action_set=front_page, sparsity=10),
}

# %%
# A visit earns the worth of what is shown, with noise 0.5. Some items are sold out at any time.

best = np.sort(worth)[-10:].sum()
earned, shown, learners = {}, {}, {}
for name, policy in policies.items():
    learner = policy.start(seed=0)
    visitors = np.random.default_rng(1)
    earned[name], seen = np.zeros(VISITS), []
    start = time.process_time()
    for visit in range(VISITS):
        if visit % 200 == 0:
            in_stock = sb.AllBut(visitors.integers(ITEMS, size=50).tolist())
        decision = learner.ask(available=in_stock)
        value = worth[decision.indices] @ decision.values
        learner.tell(decision, value + 0.5 * visitors.standard_normal())
        earned[name][visit] = value
        seen.append(decision.indices)
    shown[name], learners[name] = np.unique(np.concatenate(seen)), learner
    rate = VISITS / (time.process_time() - start)
    print(f"{name}: {rate:,.0f} visits a CPU second, {shown[name].size:,} items shown,", end=" ")
    print(f"saved in {len(learner.to_bytes()) / 1e6:.1f} MB")

# %%
# Earnings a visit, as a moving mean, against ten random items and against the ten best of 100,000,
# which cannot be found in so few visits by somebody who is told nothing: there is time to look at a
# few hundred items only.

window = max(VISITS // 40, 1)
figure, axis = plt.subplots(figsize=(9, 3.8), layout="constrained")
for name, series in earned.items():
    axis.plot(np.convolve(series, np.ones(window) / window, mode="valid"), label=name)
axis.axhline(best, color="black", linewidth=1, label="the ten best of all")
axis.axhline(10 * worth.mean(), color="tab:gray", linewidth=1, label="ten random items")
axis.set(xlabel="visit", ylabel=f"worth of the page, mean of {window}", ylim=(0, None))
axis.legend(frameon=False)
plt.show()

# %%
# The items that are on the page at the end, among all: how good they are.

figure, axis = plt.subplots(figsize=(9, 3.4), layout="constrained")
axis.hist(worth, bins=120, log=True, color="lightgray", label=f"all {ITEMS:,} items")
for name, colour in zip(learners, ("tab:blue", "tab:orange"), strict=True):
    page = learners[name].ask().indices
    for i in page:
        axis.axvline(worth[i], color=colour, linewidth=1, label=name if i == page[0] else None)
axis.set(xlabel="worth of an item", ylabel="items (log scale)")
axis.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# What it says about items: only about those that it keeps.

print("\n".join(str(learners["told last year's popularity"].summary()).splitlines()[:7]))
