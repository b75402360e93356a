"""Find the line of a key in a TOML text: the standard parser keeps none."""

import re
from collections.abc import Sequence

Path = Sequence[str | int]
"""Keys from the top of the file, with the position where a table is one of a list."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ASSIGNMENT = re.compile(r"^\s*([\w\-\"'.\s]+?)\s*=")


def find_line(text: str, path: Path) -> int | None:
    """Return the number of the line, from 1, on which a key stands; None where it is not found.

    A key inside an inline table is found on the line of that table. For a table of a list the last
    part of the path may be the position itself: the line of its heading.

    Examples
    --------
    >>> text = '''seed = 0
    ... [[policies]]
    ... kind = "apsee"
    ... [[policies]]
    ... kind = "oful"
    ... '''
    >>> find_line(text, ["seed"]), find_line(text, ["policies", 1, "kind"])
    (1, 5)
    >>> find_line(text, ["policies", 1]), find_line(text, ["trials"])
    (4, None)
    """
    wanted = list(path)
    best: tuple[int, int] | None = None  # (parts of the path that agree, line)
    for number, here in _places(text):
        agree = _agreeing(here, wanted)
        if agree == len(here) and agree and (best is None or agree > best[0]):
            best = (agree, number)
    if best is None:
        return None
    agree, number = best
    if agree == len(wanted):
        return number
    line = text.splitlines()[number - 1]
    inline = re.search(rf"[{{,]\s*[\"']?{re.escape(str(wanted[-1]))}[\"']?\s*=", line)
    return number if inline else None


def _places(text: str) -> list[tuple[int, list[str | int]]]:
    """Return the path of every heading and every key, with its line."""
    places: list[tuple[int, list[str | int]]] = []
    table: list[str | int] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            keys = _keys(header.group(2))
            if header.group(1) == "[[":
                name = ".".join(keys)
                counts[name] = counts.get(name, -1) + 1
            table = _resolved(keys, counts)
            places.append((number, table))
            continue
        assignment = _ASSIGNMENT.match(line)
        if assignment is not None:
            places.append((number, [*table, *_keys(assignment.group(1))]))
    return places


def _keys(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _resolved(keys: list[str], counts: dict[str, int]) -> list[str | int]:
    """Put the position of the latest table behind every name that is a list of tables."""
    path: list[str | int] = []
    for depth, key in enumerate(keys, start=1):
        path.append(key)
        name = ".".join(keys[:depth])
        if name in counts:
            path.append(counts[name])
    return path


def _agreeing(here: list[str | int], wanted: list[str | int]) -> int:
    count = 0
    for mine, theirs in zip(here, wanted, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
