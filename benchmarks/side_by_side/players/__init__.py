"""Who takes part: one line each. A peer's package is imported when it plays, not before."""

from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from importlib import import_module, metadata
from pathlib import Path

import sparsebandits as sb
from side_by_side.players.base import Player


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A player, where it is made, and how much of it can be afforded."""

    label: str
    module: str
    make: str
    package: str | None = None
    """What it belongs to; None: this repository."""
    seeds: int = 20
    curved_seeds: int = 20
    """Seeds where the reward is not linear."""
    trials: int = 200
    rewards: tuple[str, ...] = ()
    """The rewards it is for; all if empty."""
    is_slow: bool = False

    def version(self) -> str | None:
        """Return what a result must have been made by to count still; None: not installed."""
        if self.package is None:
            return f"code {code_digest()}"
        try:
            return f"{self.package} {metadata.version(self.package)}"
        except metadata.PackageNotFoundError:
            return None

    def player(self, dim: int, seed: int) -> Player:
        """Make it anew."""
        made: Player = getattr(import_module(f"side_by_side.players.{self.module}"), self.make)(
            dim, seed
        )
        return made


@cache
def code_digest() -> str:
    """Return a digest of this project's code, which changes when what was measured may."""
    digest = blake2b(digest_size=6)
    for folder in (Path(sb.__file__).parent, Path(__file__).parents[1]):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


_levels = partial(Entry, module="ours", rewards=("peak",))
"""Of ours, where an input has several levels."""

_slow = partial(Entry, seeds=3, curved_seeds=2, is_slow=True)
"""A peer of whose decisions few can be afforded."""

PLAYERS: dict[str, Entry] = {
    "sparse-thompson": Entry(label="**SparseThompson**", module="ours", make="sparse_thompson"),
    "two-levels": _levels(label="**SparseThompson**, blocks of 2 levels", make="two_levels"),
    "three-levels": _levels(label="**SparseThompson**, blocks of 3 levels", make="three_levels"),
    "lin-ts": Entry(label="our LinTS, sigma told", module="ours", make="lin_ts"),
    "bofire-linear": _slow(
        seeds=8,
        label="BoFire, `LinearSurrogate`",
        module="bofire_peers",
        make="linear_surrogate",
        package="bofire",
    ),
    "bofire": _slow(
        label="BoFire, default", module="bofire_peers", make="default", package="bofire"
    ),
    "baybe": _slow(
        label="BayBE, default", module="baybe_peer", make="BaybePlayer", package="baybe"
    ),
    "optuna": Entry(
        label="Optuna TPE, 5 slots", module="optuna_peer", make="TpePlayer", package="optuna"
    ),
    "vowpal": Entry(
        label="Vowpal Wabbit, slates",
        module="vowpal_peer",
        make="SlatesPlayer",
        package="vowpalwabbit",
    ),
    "mabwiser": Entry(
        label="MABWiser UCB1, an arm per input",
        module="mabwiser_peer",
        make="ArmsPlayer",
        package="mabwiser",
    ),
    "random": Entry(label="random, then ridge", module="random_ridge", make="RandomRidge"),
}
