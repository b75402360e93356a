"""
Many users: a learner each, or a context instead
================================================

A hundred users differ in what they like. Three ways to serve them: one learner for all, one
learner for each, and one learner that is told who is asking, as a context. Which is best depends
on how often a user comes and on how well the context describes them.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

USERS = 100  # quick: 5
VISITS = 3000  # quick: 60

# %%
# Twelve topics, at most three on a page. What a user likes follows from two numbers that are
# known of each (age and the hour at which they come, say), and a rest that is not.

rng = np.random.default_rng(0)
page = sb.Box(np.zeros(12), np.ones(12))
known = rng.standard_normal((USERS, 2))
common, effect = rng.uniform(-0.5, 0.5, size=12), 0.5 * rng.standard_normal((12, 2))

# %%
# The three ways. ``context=2`` makes theta a function of two numbers, which ``ask`` is then given.

one_for_all = sb.SparseThompson(action_set=page, sparsity=3)
by_context = sb.SparseThompson(action_set=page, sparsity=3, context=2)


def serve(rest):
    """Return the regret of the three ways, visit by visit; the context leaves out `rest`."""
    likes = common + known @ effect.T + rest * rng.standard_normal((USERS, 12))
    best = np.sort(np.maximum(likes, 0.0), axis=1)[:, -3:].sum(axis=1)
    alone, told = one_for_all.start(seed=0), by_context.start(seed=0)
    each = [one_for_all.start(seed=user) for user in range(USERS)]
    lost = np.zeros((3, VISITS))
    for visit in range(VISITS):
        user = int(rng.integers(USERS))
        noise = 0.3 * rng.standard_normal()
        asked = (
            (alone, alone.ask()),
            (each[user], each[user].ask()),
            (told, told.ask(context=known[user])),
        )
        for way, (learner, decision) in enumerate(asked):
            value = likes[user] @ decision.action
            learner.tell(decision, value + noise)
            lost[way, visit] = best[user] - value
    return lost.cumsum(axis=1)


# %%
# Left: the context says it all. Right: users also differ in ways that it does not know of.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
regret = {}
for axis, rest in zip(axes, (0.0, 0.4), strict=True):
    regret[rest] = serve(rest)
    labels = ("one learner for all", "a learner for each user", "one learner, told the context")
    for line, label in zip(regret[rest], labels, strict=True):
        axis.plot(line, label=label)
    axis.set(xlabel="visit", title=f"what the context leaves out: {rest}")
axes[0].set_ylabel("regret")
axes[0].legend(frameon=False)
plt.show()

# %%
# One learner for all goes on losing: it plays what most people like. A learner for each user
# starts from nothing a hundred times. A context shares what is learned; what it leaves out it
# never learns, and the more often users come, the better a learner of their own does.
#
# What each way lost in the last fifth of the visits, per visit:

fifth = VISITS // 5
for rest, lines in regret.items():
    late = (lines[:, -1] - lines[:, -fifth]) / fifth
    print(f"left out {rest}:", "  ".join(f"{x:.3f}" for x in late))

# %%
# A page changes with who is asking:

learner = by_context.start(seed=0)
for user in rng.integers(USERS, size=min(2000, VISITS)):
    decision = learner.ask(context=known[user])
    learner.tell(decision, (common + effect @ known[user]) @ decision.action)

ages = np.linspace(-2, 2, 41)
shown = np.zeros((12, ages.size))
for column, age in enumerate(ages):
    decision = learner.ask(context=[age, 0.0])
    shown[:, column] = decision.action
    learner.forget(decision)
figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
axis.imshow(shown, aspect="auto", cmap="Blues", extent=(-2, 2, 11.5, -0.5), interpolation="nearest")
axis.set(xlabel="the first number of the context, the second being 0", ylabel="topic")
axis.set_yticks(range(12))
plt.show()
