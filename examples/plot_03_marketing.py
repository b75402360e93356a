"""
Marketing: a budget over 30 channels
====================================

30,000 a day, 30 channels, at most six of them at once, nothing below a thousand; the second
thousand in a channel earns less than the first; sales have a baseline that no channel explains;
and what works in spring does not work in autumn. All of that is a few keywords.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

DAYS = 280  # quick: 14

# %%
# A linear reward would put all of the money where a thousand earns most. So each channel is cut
# into three segments with falling returns: the first 2 (thousand), the next 3 and the last 5. A
# block is a channel, so that "at most six" counts channels and not segments. A segment that is
# used takes at least 1, which is the smallest booking.

channels = [
    f"{kind} {k}" for kind in ("search", "social", "video", "audio", "print") for k in range(1, 7)
]
segments = [f"{channel}: {part}" for channel in channels for part in ("first", "next", "last")]
spend = sb.Budget(total=30.0, upper=[2.0, 3.0, 5.0] * 30, min_dose=1.0, names=segments)
six = sb.Supports(at_most=6, blocks=[segments[3 * i : 3 * i + 3] for i in range(30)])

# %%
# What is believed beforehand: the first segment of a channel earns about 0.6 a thousand, the last
# about 0.2. Nothing else says that segments are filled in order. Rewards count half after 200
# days.

belief = np.tile([0.6, 0.4, 0.2], 30)
policy = sb.SparseThompson(
    action_set=spend, sparsity=six, half_life=200, prior_mean=belief, prior_scale=0.35
)
learner = policy.start(seed=0)

# %%
# The market, instead of yours: each channel has a strength, which moves a little every week.

rng = np.random.default_rng(2)
strength = rng.lognormal(-0.3, 0.6, size=30)
shape = np.array([1.0, 0.6, 0.3])
equal = np.zeros(90)
equal[:18] = np.tile([2.0, 3.0, 0.0], 6)  # six channels, 5 each: what was done before

earned = np.zeros((3, DAYS))
booked = np.zeros((DAYS, 30))
for day in range(DAYS):
    if day % 7 == 0:
        strength *= rng.lognormal(0.0, 0.05, size=30)
        theta = np.outer(strength, shape).ravel()
        best = sb.sparse_argmax(spend, theta, six)
    decision = learner.ask()
    sales = 100.0 + theta @ decision.action + 2.0 * rng.standard_normal()
    learner.tell(decision, sales)
    earned[:, day] = best.value, theta @ decision.action, theta @ equal
    booked[day] = decision.action.reshape(30, 3).sum(axis=1)
print("the best plan of the last week is proven:", best.is_exact)

# %%
# What the campaign adds to the baseline of 100, a week's mean at a time. The learner starts from
# what was believed and follows the market.

weeks = earned[:, : DAYS // 7 * 7].reshape(3, -1, 7).mean(axis=2)
figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
for line, label in zip(
    weeks, ("the best plan of each week", "the learner", "as before"), strict=True
):
    axis.plot(np.arange(1, line.size + 1), line, label=label)
axis.set(xlabel="week", ylabel="sales a day above the baseline", ylim=(0, None))
axis.legend(frameon=False)
plt.show()

# %%
# Where the money went.

order = np.argsort(-booked.sum(axis=0))[:15]
figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
money = axis.imshow(booked[:, order].T, aspect="auto", cmap="Greens", interpolation="nearest")
axis.set_yticks(range(order.size), [channels[i] for i in order])
axis.set(xlabel="day", title="thousands a day, the 15 channels that got most")
figure.colorbar(money)
plt.show()

# %%
# Tomorrow's booking, by channel, and what the learner says of the baseline and of its best
# segments.

tomorrow = learner.ask()
plan = tomorrow.action.reshape(30, 3).sum(axis=1)
for i in np.argsort(-plan):
    if plan[i] > 0:
        print(f"{channels[i]:10} {plan[i]:5.1f}")
learner.forget(tomorrow)  # it was only looked at
print("\n".join(str(learner.summary()).splitlines()[:8]))
