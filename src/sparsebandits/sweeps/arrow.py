"""pyarrow, imported when first used: it is an extra, and it ships no types."""

import importlib
from typing import Any

from sparsebandits.errors import SweepError


def arrow() -> Any:
    """Return the module pyarrow."""
    return _imported("pyarrow")


def parquet() -> Any:
    """Return the module pyarrow.parquet."""
    return _imported("pyarrow.parquet")


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "pyarrow":
            raise
        raise SweepError(
            "Sweeps keep their results with pyarrow, which is not installed; install it with: "
            "pip install 'sparsebandits[sweep]'"
        ) from None
