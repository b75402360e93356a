"""A sweep: one TOML file whose cross product gives the cells, all of them built before the run."""

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.grid import Skipped, build, labels
from sparsebandits.sweeps.sweep_file import Source, check
from sparsebandits.validation import describe


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Everything that a sweep computes.

    A file names `seed` (0), `trials`, `horizon` and `sparsity`; further `benchmark` ("exact" or
    "greedy"), `points` (200 recorded steps), `checkpoints` (steps recorded besides those),
    `track_support` (false) and `skip_impossible` (false: a combination that cannot run is an
    error). Each of `dim`, `sparsity`, `sigma` (the
    level of the noise) and `horizon` is one value at the top of the file, or a list under [axes].

    `sparsity` is a number, or a table of rules with the keys of `Supports`.

    A table [[policies]] has a `kind` and the keywords of that policy, without set and sparsity. A
    policy that needs to know the horizon is told that of its cell; ``sigma = "known"`` tells it
    that of the noise. A table [[environments]] has what `environment_from_dict` reads. With
    `dim`, lp balls leave theirs out, and the ends of a box are one number for all coordinates.
    Both may have a `label`, which must be given where two would share theirs.

    Attributes
    ----------
    seed : int
    cells : tuple of Cell
    skipped : tuple of Skipped
        Combinations that cannot run, with ``skip_impossible = true``.
    configuration : dict
        The whole file, JSON-safe.

    Examples
    --------
    >>> from sparsebandits.sweeps.spec import read_sweep
    >>> sweep = read_sweep({
    ...     "trials": 10, "horizon": 500, "axes": {"dim": [5, 10], "sparsity": [1, 2]},
    ...     "policies": [{"kind": "sparse-thompson"}, {"kind": "apsee", "sigma": "known"}],
    ...     "environments": [
    ...         {"action_set": {"kind": "lp-ball"}, "theta_star": {"kind": "uniform-cube"}},
    ...     ],
    ... })
    >>> sweep, sweep.cells[0].key
    (Sweep(8 cells, seed=0), 'sparse-thompson/l2-ball/d=5/H=1')
    """

    seed: int
    cells: tuple[Cell, ...]
    skipped: tuple[Skipped, ...]
    configuration: dict[str, Any]

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"Sweep({len(self.cells)} cells{skipped}, seed={self.seed})"

    @property
    def digest(self) -> str:
        """Name the configuration: another file, another digest; layout and comments aside."""
        text = json.dumps(self.configuration, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def tables(self, cell: Cell) -> dict[str, Any]:
        """Return what the file says about a cell: its two tables, and its place on the axes."""
        tables = {key: value for key, value in cell.columns.items() if key != "cell"}
        for column, name in (("policy", "policies"), ("environment", "environments")):
            listed = self.configuration[name]
            tables[column] = listed[labels(listed).index(str(cell.columns[column]))]
        return tables


def read_sweep(source: Path | str | Mapping[str, Any] | Sweep) -> Sweep:
    """Read a sweep from a TOML file, or from the mapping that such a file holds, and check it.

    Every policy and every environment is built once, so that parts that do not fit are known
    before anything runs.
    """
    if isinstance(source, Sweep):
        return source
    if isinstance(source, Mapping):
        return _build(source, Source())
    given: object = source
    if not isinstance(given, (str, Path)):
        raise SweepError(
            f"A sweep is a path to a TOML file, a mapping or a Sweep, got {describe(given)}."
        )
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise SweepError(f"{path} does not exist; name a TOML file with a sweep.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"{path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{path} is not valid TOML: {error}.") from None
    return _build(data, Source(str(path), text))


def _build(data: Mapping[str, Any], source: Source) -> Sweep:
    check(data, source)
    combinations = list(build(data, source))
    cells = tuple(item for item in combinations if isinstance(item, Cell))
    skipped = tuple(item for item in combinations if isinstance(item, Skipped))
    if not cells:
        raise SweepError(
            f"{source.name}: nothing is left to run, every combination is impossible; the first, "
            f"{skipped[0].key}: {skipped[0].reason}"
        )
    configuration = {"seed": 0, **_plain(data)}
    return Sweep(
        seed=configuration["seed"], cells=cells, skipped=skipped, configuration=configuration
    )


def _plain(value: Any) -> Any:
    """Return a copy that JSON can hold: infinity as the text that lp balls read."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
