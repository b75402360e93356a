"""Enumeration of supports that share prefixes: eliminate once, complete many times."""

import math

import numpy as np

from sparsebandits.validation import FloatArray, IntArray

STORED_ENTRIES = 4_000_000  # matrix entries an enumeration may hold at once


def _eliminate(
    matrices: FloatArray, thetas: FloatArray, values: FloatArray, pivot: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Include `pivot` and keep the coordinates after it."""
    column = matrices[:, pivot + 1 :, pivot]
    ratio = thetas[:, pivot] / matrices[:, pivot, pivot]
    scaled = column / matrices[:, pivot, pivot, None]
    left = matrices[:, pivot + 1 :, pivot + 1 :] - column[:, :, None] * scaled[:, None, :]
    return (
        left,
        thetas[:, pivot + 1 :] - column * ratio[:, None],
        values + ratio * thetas[:, pivot],
    )


def best_last(
    matrices: FloatArray, thetas: FloatArray, values: FloatArray, size: int
) -> tuple[IntArray, FloatArray]:
    """Find the two best ways to add one or two coordinates.

    Returns rows (problem, coordinates...) and their values.
    """
    f = thetas.shape[1]
    on = np.arange(f)
    diagonal = matrices[:, on, on]
    gains = values[:, None] + thetas**2 / diagonal
    if size == 2:
        ratio = matrices / diagonal[:, :, None]
        left = diagonal[:, None, :] - ratio * matrices
        left[:, on, on] = 1.0
        ratio *= -thetas[:, :, None]
        ratio += thetas[:, None, :]
        ratio *= ratio
        ratio /= left
        ratio += gains[:, :, None]
        ratio += np.where(on[:, None] >= on, -np.inf, 0.0)  # each pair once
        gains = ratio
    flat = gains.reshape(-1)
    first = int(flat.argmax())
    top = float(flat[first])
    flat[first] = -np.inf
    second = int(flat.argmax())
    rows = np.array(np.unravel_index([first, second], gains.shape), dtype=np.intp).T
    return rows, np.array([top, flat[second]])


def best_completions(
    matrices: FloatArray, thetas: FloatArray, values: FloatArray, size: int
) -> tuple[IntArray, FloatArray]:
    """Enumerate the ways to add `size` coordinates to problems (n, f, f), (n, f), (n,).

    Returns the two best as rows (problem, coordinates...), and their values; minus infinity
    stands for "no other". Prefixes of all but the last two coordinates are kept in
    colexicographic order, so that those which stop before coordinate m are the first
    comb(m, length) ones: a slice.
    """
    n, f = thetas.shape
    if size <= 2:
        return best_last(matrices, thetas, values, size)
    candidates: list[tuple[IntArray, FloatArray]] = []
    if math.comb(f - 3, size - 3) * n * f * f > STORED_ENTRIES and size > 3:
        for pivot in range(f - size + 1):
            left = _eliminate(matrices, thetas, values, pivot)
            rows, gains = best_completions(*left, size - 1)
            rows[:, 1:] += pivot + 1
            candidates.append((np.insert(rows, 1, pivot, axis=1), gains))
        return _best_two(candidates)
    prefixes = np.empty((1, 0), dtype=np.intp)
    for length in range(1, size - 1):
        stop = f - (size - length)
        kept = math.comb(stop, length) if length < size - 2 else 0
        next_matrices, next_thetas = np.empty((kept * n, f, f)), np.empty((kept * n, f))
        next_values, next_prefixes = np.empty(kept * n), np.empty((kept, length), dtype=np.intp)
        for pivot in range(length - 1, stop):
            parents, start = math.comb(pivot, length - 1), math.comb(pivot, length)
            old, new = slice(parents * n), slice(start * n, (start + parents) * n)
            left = _eliminate(matrices[old], thetas[old], values[old], pivot)
            if length == size - 2:
                last, gains = best_last(*left, 2)
                prefix, problem = np.divmod(last[:, 0], n)
                head = np.column_stack([problem, prefixes[prefix]])
                rows = np.insert(last[:, 1:] + pivot + 1, 0, pivot, axis=1)
                candidates.append((np.concatenate([head, rows], axis=1), gains))
                continue
            next_matrices[new, pivot + 1 :, pivot + 1 :] = left[0]
            next_thetas[new, pivot + 1 :], next_values[new] = left[1], left[2]
            next_prefixes[start : start + parents, :-1] = prefixes[:parents]
            next_prefixes[start : start + parents, -1] = pivot
        matrices, thetas, values, prefixes = next_matrices, next_thetas, next_values, next_prefixes
    return _best_two(candidates)


def _best_two(candidates: list[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    rows = np.concatenate([rows for rows, _ in candidates])
    gains = np.concatenate([gains for _, gains in candidates])
    best = np.argsort(-gains, kind="stable")[:2]
    return rows[best], gains[best]
