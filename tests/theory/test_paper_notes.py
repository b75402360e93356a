"""The notes on the paper name tests and labels; both must exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTES = (ROOT / "docs" / "paper-notes.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", NOTES)))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_every_test_named_in_the_notes_exists(path: str, name: str) -> None:
    source = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^def {name}\(", source, flags=re.MULTILINE)


def test_every_note_says_what_why_and_where() -> None:
    notes = re.split(r"^### ", NOTES, flags=re.MULTILINE)[1:]
    assert [int(note.split(".")[0]) for note in notes] == list(range(1, len(notes) + 1))
    for note in notes:
        for part in ("- **Paper:** ", "- **Here:** ", "- **Why:** "):
            assert note.count(part) == 1, note
        assert re.search(r"^- \*\*Tests?:\*\* `tests/", note, flags=re.MULTILINE), note
