"""Sign patterns whose rows weigh several coordinates at once: good first guesses of a design."""

import numpy as np
import scipy.linalg

from sparsebandits.validation import FloatArray


def hadamard(order: int) -> FloatArray | None:
    """Return a matrix of +-1 with orthogonal rows, first row and column +1; None if unknown here.

    Doubling (Sylvester) of a matrix of order 1 or, where order - 1 is a prime q = 3 mod 4, of
    Paley's: that covers 1, 2 and every multiple of 4 up to 24 and many beyond.

    Examples
    --------
    >>> from sparsebandits.exploration.patterns import hadamard
    >>> hadamard(2)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    if order == 1:
        return np.ones((1, 1))
    if order % 4 == 0 and _is_prime(order - 1):
        return _paley(order - 1)
    half = hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), half)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def _paley(q: int) -> FloatArray:
    """Paley's first construction, from the squares modulo a prime q = 3 mod 4."""
    residues = np.full(q, -1.0)
    residues[np.arange(1, q) ** 2 % q] = 1.0
    residues[0] = 0.0
    jacobsthal = scipy.linalg.circulant(residues)
    matrix = np.ones((q + 1, q + 1))
    matrix[1:, 1:] = jacobsthal - np.eye(q)
    # Rows 1.. have +1 in front and sum to 0: orthogonal to the row of ones.
    return matrix


def sign_patterns(size: int) -> list[FloatArray]:
    """Return (size, size) matrices of +-1 to start a design from, each with its negative.

    A Hadamard matrix weighs best on a symmetric cube. The core of one of order size + 1 becomes,
    on [0, 1]^size, the S-matrix, the best weighing design of a balance with one pan. Where neither
    exists, the corner of a larger one and J - 2I are close.
    """
    patterns = []
    whole = hadamard(size)
    if whole is not None:
        patterns.append(whole)
    # A power of two is always there.
    orders = range(size + 1, 2 * size + 1)
    larger = next(matrix for n in orders if (matrix := hadamard(n)) is not None)
    if len(larger) == size + 1:
        patterns.append(larger[1:, 1:])
    elif whole is None:
        patterns.append(larger[:size, :size])
    patterns.append(np.ones((size, size)) - 2 * np.eye(size))
    return [sign * pattern for pattern in patterns for sign in (1.0, -1.0)]


def block_sizes(sparsity: int) -> list[int]:
    """Return the block sizes to try: H, and the largest that have a Hadamard or an S-matrix."""
    whole = next(k for k in range(sparsity, 0, -1) if hadamard(k) is not None)
    core = next(k for k in range(sparsity, 0, -1) if hadamard(k + 1) is not None)
    return sorted({sparsity, whole, core}, reverse=True)
