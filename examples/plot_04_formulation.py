"""
A formulation: at most 5 of 50 ingredients, amounts that add up to 1
====================================================================

A laboratory mixes shampoos. 50 ingredients are on the shelf, a recipe takes at most five, their
shares add up to 1, and an ingredient is left out or makes up at least 2% of the mix. Eight
recipes are mixed in parallel, a day later eight foam heights are read off, in mm.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

PLATES = 25  # quick: 3

# %%
# The shelf. Some ingredients are harsh: at most 5, 10 or 20% of them. Two rules of the house:
# there is always water, 40 to 70% of the mix, and the two acids are never mixed.

shelf = ["water", "citric acid", "lactic acid", *(f"ingredient {k}" for k in range(4, 51))]
least = np.full(50, 0.02)
most = np.random.default_rng(0).choice([0.05, 0.1, 0.2], size=50)
least[0], most[0] = 0.4, 0.7
mix = sb.Budget(total=1.0, upper=most, min_dose=least, spend_all=True, names=shelf)
rules = sb.Supports(at_most=5, always=["water"], never_together=[("citric acid", "lactic acid")])
learner = sb.SparseThompson(action_set=mix, sparsity=rules).start(seed=0)

# %%
# The laboratory, instead of yours: foam of each ingredient per unit of its share.

rng = np.random.default_rng(1)
foam = rng.normal(20.0, 8.0, size=50)
best = sb.sparse_argmax(mix, foam, rules)


def measure(recipe):
    """Mix it, wait a day, read off the height."""
    return foam @ recipe + 1.0 * rng.standard_normal()


# %%
# A plate is one batch. The recipes of a batch know of each other, so that they differ where that
# teaches something. Beside it: random recipes that keep the same rules.

height, found = np.zeros((PLATES, 8)), np.zeros(PLATES)
by_chance = np.zeros((PLATES, 8))
for plate in range(PLATES):
    batch = learner.ask(count=8)
    learner.tell_many(batch, [measure(decision.action) for decision in batch])
    height[plate] = [foam @ decision.action for decision in batch]
    found[plate] = foam @ sb.sparse_argmax(mix, learner.theta_hat, rules).action
    guesses = sb.sparse_argmax_batch(mix, rng.standard_normal((8, 50)), rules)
    by_chance[plate] = guesses.actions @ foam

figure, axis = plt.subplots(figsize=(9, 3.8), layout="constrained")
plates = np.arange(1, PLATES + 1)
for recipes, colour, label in (
    (by_chance, "tab:gray", "random recipes"),
    (height, "tab:blue", "recipes that were mixed"),
):
    axis.plot(np.repeat(plates, 8), recipes.ravel(), ".", color=colour, alpha=0.5, label=label)
axis.plot(plates, found, color="tab:orange", label="the recipe it would settle on")
axis.axhline(best.value, color="black", linewidth=1, label="the best possible")
axis.set(xlabel="plate of eight", ylabel="true foam height, mm")
axis.legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# The recipe that it would settle on, beside the best. The exact search proves that no recipe is
# better for these estimates; with a runner-up it also says by how much the next five would be
# worse.

settled = sb.sparse_argmax(mix, learner.theta_hat, rules, runner_up=True)
used = sorted({*settled.support, *best.support})
figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
places = np.arange(len(used))
axis.bar(places - 0.2, settled.action[used], 0.4, label="settled on", color="tab:orange")
axis.bar(places + 0.2, best.action[used], 0.4, label="best", color="black")
axis.set_xticks(places, [shelf[i] for i in used], rotation=20)
axis.set_ylabel("share of the mix")
axis.legend(frameon=False)
plt.show()
print(f"proven: {settled.is_exact}, ahead of the next five by {settled.gap:.3f}")
print("\n".join(str(learner.summary()).splitlines()[:8]))
