"""
Films: a slate of at most five genres, with airtime
===================================================

A channel has three and a quarter hours an evening. It shows at most five of 20 genres, each for
30 to 45 minutes, and learns from one critic's score an evening which genres to show. The scores
are real: 17,004 films, from a data set in the public domain (CC0) that ships with the library.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

EVENINGS = 1500  # quick: 60

# %%
# The data: how much better than the average film a genre's films are, and how much single films
# differ.

films = sb.film_recommendation()
genres = list(films.names)
liking = films.theta_star  # the learner never sees it
rng = np.random.default_rng(0)
noise = films.noise.draw(rng, EVENINGS)

# %%
# What is allowed: 3.25 hours in all; a genre is not shown, or for at least half an hour. Four
# genres of 45 minutes would leave a quarter of an hour, in which nothing can be shown.

evening = sb.Budget(total=3.25, upper=[0.75] * 20, min_dose=0.5, names=genres)
policy = sb.SparseThompson(action_set=evening, sparsity=5)
learner = policy.start(seed=0)
best = sb.sparse_argmax(evening, liking, sparsity=5)
print("the best slate:", {genres[i]: round(float(best.action[i]), 2) for i in best.support})

# %%
# Play. On Sundays no horror.

slates, lost = np.zeros((EVENINGS, 20)), np.zeros(EVENINGS)
for day in range(EVENINGS):
    sunday = day % 7 == 6
    decision = learner.ask(available=sb.AllBut(["Horror"]) if sunday else None)
    learner.tell(decision, liking @ decision.action + noise[day])
    slates[day] = decision.action
    lost[day] = best.value - liking @ decision.action
print("tonight:", learner.ask().named)

# %%
# Which genres were on, and for how long. At first many are tried; soon a few remain.

order = np.argsort(-liking)
figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
hours = axis.imshow(slates[:, order].T, aspect="auto", cmap="Blues", interpolation="nearest")
axis.set_yticks(range(20), [genres[i] for i in order])
axis.set(xlabel="evening", title="hours of each genre; the best liked on top")
figure.colorbar(hours, label="hours")
plt.show()

# %%
# What is known at the end: an estimate and a 95% interval of each genre, and the truth beside it.

summary = learner.summary()
rows = sorted(summary, key=lambda row: -liking[row.index])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.6), layout="constrained", width_ratios=[3, 2]
)
for height, row in enumerate(rows):
    left.plot([row.low, row.high], [height, height], color="tab:blue", linewidth=4, alpha=0.35)
    left.plot(row.estimate, height, "o", color="tab:blue", markersize=4)
    left.plot(liking[row.index], height, "|", color="black", markersize=10)
left.set_yticks(range(len(rows)), [row.name for row in rows])
left.invert_yaxis()
left.set(xlabel="liking: estimate and interval; the bar | is the truth")
right.plot(np.cumsum(lost))
right.set(xlabel="evening", ylabel="regret", title="what was lost against the best slate")
plt.show()

# %%
# The same as a table, the likeliest of the best slate first. Genres that are nearly as good are
# told apart late, and it hardly matters: what is lost by confusing them is small.

print(summary)
