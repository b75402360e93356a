"""The part of a page that a command writes: what stands between two comments."""

from pathlib import Path

from sparsebandits.errors import InvalidValueError


def rewrite_between(page: Path, begin: str, end: str, part: str) -> None:
    r"""Put `part`, whole lines, between the comments `begin` and `end` of a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     _ = page.write_text("above <!-- a -->old<!-- /a --> below")
    ...     rewrite_between(page, "<!-- a -->", "<!-- /a -->", "new\n")
    ...     page.read_text()
    'above <!-- a -->\nnew\n<!-- /a --> below'
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{page} cannot be read: {error}.") from None
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise InvalidValueError(
            f"{page} must have the line {begin} and below it the line {end}, each once; the "
            "table is written between them."
        )
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text(f"{before}{begin}\n{part}{end}{after}", encoding="utf-8")
