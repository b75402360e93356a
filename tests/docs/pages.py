"""The code on the pages for readers: Python blocks, and lines that call the command."""

import re
import shlex
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"^(?:    )?(?:[^\s`]*/)?(sparsebandits [a-z-][^`]*)$")
_INLINE = re.compile(r"`(?:\S*/)?(sparsebandits [a-z-][^`]*)`")


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language, in order."""
    found = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [textwrap.dedent(text) for _, tag, text in found if tag == language]


def calls(page: Path) -> list[list[str]]:
    """Return the arguments of every call of the command, in blocks, indented or inline."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCED.finditer(text):
        if block[2]:
            text = text.replace(block[0], "")
    text = re.sub(r" *\\\n\s*", " ", text)
    lines = [found[1] for line in text.splitlines() if (found := _CALL.match(line))]
    return [shlex.split(line, comments=True)[1:] for line in [*lines, *_INLINE.findall(text)]]
