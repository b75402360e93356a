"""The columns of a regression: the coordinates of an action, a baseline, a context."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Design:
    """reward = (1, z)·b + x' Theta (1, z) + noise: what is multiplied by the unknown numbers.

    Without a context z the model is reward = b + theta·x, and without an intercept theta·x. The
    columns of the baseline stand first; those of coordinate i, one for 1 and one for each entry of
    z, stand together.

    Parameters
    ----------
    dim : int
    intercept : bool
        Whether there is a baseline b.
    context : int
        How many entries z has.
    centre : (dim,) array, optional
        What is believed of theta before any reward, 0 unless given. The regression is of what the
        rewards are above it; `thetas` adds it back.

    Examples
    --------
    >>> import numpy as np
    >>> design = Design(2, intercept=True, context=1)
    >>> design.columns(np.array([[0.0, 2.0]]), np.array([[3.0]]))
    array([[1., 3., 0., 0., 2., 6.]])
    >>> design.thetas(np.array([[9.0, 9.0, 1.0, 10.0, 2.0, 20.0]]), np.array([[3.0]]))
    array([[31., 62.]])
    """

    dim: int
    intercept: bool = False
    context: int = 0
    centre: FloatArray | None = None

    @cached_property
    def width(self) -> int:
        """How many columns a coordinate has."""
        return 1 + self.context

    @cached_property
    def base(self) -> int:
        """How many columns the baseline has."""
        return self.width if self.intercept else 0

    @cached_property
    def size(self) -> int:
        """How many columns there are."""
        return self.base + self.dim * self.width

    def prior(self, prior: FloatArray) -> FloatArray:
        """Return the precision of every column from that of every coordinate, (dim,) to (size,).

        Nothing is believed of the intercept; of the baseline's answer to z, a hundredth of what is
        believed of a coordinate on average.
        """
        columns = np.repeat(prior, self.width)
        if not self.intercept:
            return columns
        baseline = np.full(self.width, 0.01 * prior.mean())
        baseline[0] = 0.0
        return np.concatenate([baseline, columns])

    def columns(self, actions: FloatArray, contexts: FloatArray | None = None) -> FloatArray:
        """Return the columns of actions, (n, dim) or (n, k, dim), and one context a row."""
        if not self.context:
            if not self.intercept:
                return actions
            columns = np.empty((*actions.shape[:-1], self.size))
            columns[..., 0] = 1.0
            columns[..., 1:] = actions
            return columns
        given = self._given(actions.ndim, contexts)
        products = actions[..., None] * given[..., None, :]
        columns = products.reshape(*actions.shape[:-1], -1)
        if not self.intercept:
            return columns
        baseline = np.broadcast_to(given, (*actions.shape[:-1], self.width))
        return np.concatenate([baseline, columns], axis=-1)

    def thetas(self, parameters: FloatArray, contexts: FloatArray | None = None) -> FloatArray:
        """Return theta_t = Theta (1, z), (n, dim) or (n, k, dim), of parameters of all columns.

        Without a context that is theta at z = 0.
        """
        own = parameters[..., self.base :]
        if contexts is None:
            own = own if self.width == 1 else own[..., :: self.width]
            return own if self.centre is None else np.asarray(own + self.centre)
        given = self._given(parameters.ndim, contexts)
        products = own.reshape(*own.shape[:-1], self.dim, self.width) * given[..., None, :]
        centre = 0.0 if self.centre is None else self.centre
        return np.asarray(products.sum(axis=-1) + centre)

    def thetas_at(self, parameters: FloatArray, context: FloatArray | None) -> FloatArray:
        """Return theta_t of every row of parameters, (n, dim), for one context, (z,)."""
        if context is None:
            return self.thetas(parameters)
        return self.thetas(parameters, np.broadcast_to(context, (len(parameters), context.size)))

    def _given(self, ndim: int, contexts: FloatArray | None) -> FloatArray:
        """Return (1, z) of each row, (n, width), or (n, 1, width) beside (n, k, dim)."""
        assert contexts is not None
        given = np.ones((len(contexts), self.width))
        given[:, 1:] = contexts
        return given if ndim == 2 else given[:, None, :]


def check_contexts(contexts: FloatArray | None, shape: tuple[int, int]) -> None:
    """Refuse a choice without the context that the policy asks for."""
    if contexts is None or contexts.shape != shape:
        raise InvalidValueError(
            f"This policy decides by a context of {shape[1]} numbers: give ask(context=[...]), got "
            f"{'none' if contexts is None else f'{contexts.shape[1]} of them'}."
        )
