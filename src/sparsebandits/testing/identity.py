"""What an action set promises as an object: samples, copies, files, and what it hands out."""

import pickle
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.testing.contract import (
    Promise,
    SetExam,
    SparseProblem,
    draw,
    same_bits,
    through_json,
)


def _samples(exam: SetExam) -> None:
    X, sparsity = exam.part
    drawn = np.array([X.sample(exam.rng, sparsity) for _ in range(20)])
    again = np.random.default_rng(exam.seed)
    for number, action in enumerate(drawn):
        same = same_bits(action, X.sample(again, sparsity))
        exam.require(same, f"sample {number} is another one", sample=action)
        sparse = np.count_nonzero(action) <= sparsity
        exam.require(sparse and X.contains(action), f"sample {number}", sample=action)
    ends = X.best_response(exam.rng.standard_normal((20, X.dim)))
    many = len(np.unique(drawn, axis=0)) > 1 or len(np.unique(ends, axis=0)) == 1
    exam.require(many, "they are all alike", sample=drawn[0])


def _copies(exam: SetExam) -> None:
    whole = exam.part.action_set
    alone = np.eye(whole.dim, dtype=np.bool_)[np.flatnonzero(whole.available)[-1]]
    possible = whole.value(np.ones(whole.dim), alone) > -np.inf
    for X in (whole, whole.restrict(alone if possible else whole.available)):
        saved, theta = through_json(X.to_dict()), draw(exam)[0]
        copies = [pickle.loads(pickle.dumps(X))]
        if ActionSet.kinds.get(X.kind) is type(X):
            copies.append(ActionSet.from_dict(saved))
        for copy in copies:
            exam.require(copy == X and hash(copy) == hash(X), "they differ", saved=saved)
            same = same_bits(copy.best_response(theta), X.best_response(theta))
            exam.require(same, "the responses differ", theta=theta, saved=saved)


def _immutable(exam: SetExam) -> None:
    X = exam.part.action_set
    theta, support = draw(exam)
    if X.value(theta, support) == -np.inf:
        support = list(range(X.dim))
    for name in [name for name in vars(X) if not name.startswith("_")]:
        array = getattr(X, name)
        closed = not isinstance(array, np.ndarray) or not array.flags.writeable
        exam.require(closed, f"`{name}` can be written to")
    before = X.best_response(theta, support), *(np.array(reach) for reach in X.axis_reach())
    for array in (X.best_response(theta, support), *X.axis_reach()):
        if array.flags.writeable:
            array[...] = 99.0
    after = X.best_response(theta, support), *X.axis_reach()
    same = all(same_bits(one, two) for one, two in zip(before, after, strict=True))
    exam.require(same, "it answers otherwise once its answers were written to", theta=theta)


def _edges(exam: SetExam) -> None:
    X = exam.part.action_set
    good = np.ones(X.dim)
    thetas: list[Any] = [np.ones(X.dim + 1), np.full(X.dim, np.nan), np.full(X.dim, np.inf), "abc"]
    for theta in thetas:
        exam.refuses(partial(X.value, theta), "theta", theta=theta)
    supports: list[Any] = [[X.dim], [-1], [0, 0], [0.5], "01", 1]
    for support in supports:
        exam.refuses(partial(X.best_response, good, support), "support", support=support)
    exam.require(not X.contains(np.full(X.dim, np.nan)), "nan is contained")
    text = repr(X)
    readable = text.startswith(type(X).__name__ + "(") and len(text) < 200 and "\n" not in text
    exam.require(readable, "the repr", repr=text)


IDENTITY_PROMISES: dict[str, Promise[SparseProblem]] = {
    "Samples are feasible, sparse, many, and the same for the same seed.": _samples,
    "A set that was pickled, or saved and read back, equals it to the last bit.": _copies,
    "What a set hands out cannot be used to change it.": _immutable,
    "What is no theta or support is refused, and the repr is one short line.": _edges,
}
