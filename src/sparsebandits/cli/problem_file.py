"""Read a problem from a JSON or TOML file, with errors that name the file."""

import json
import tomllib
from pathlib import Path
from typing import Any

from sparsebandits.errors import InvalidValueError


def read_problem(path: Path) -> dict[str, Any]:
    """Return the table in a ``.json`` or ``.toml`` file."""
    readers = {".json": json.loads, ".toml": tomllib.loads}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidValueError(f"{path} must end in .json or .toml, got {path.suffix!r}.")
    try:
        data = reader(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidValueError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{path} cannot be read: {error}.") from None
    except ValueError as error:  # also of a number with thousands of digits
        raise InvalidValueError(
            f"{path} is not valid {path.suffix[1:].upper()}: {error}."
        ) from None
    if not isinstance(data, dict):
        raise InvalidValueError(f"{path} must hold a table of keys at the top level.")
    return data
