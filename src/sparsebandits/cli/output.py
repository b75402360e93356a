"""What commands print alike: JSON on request, a table of text cells, bars of progress."""

from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from sparsebandits.comparison.text_table import TextTable


json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def open_console(width: int) -> "Console":
    """Return where results are printed: as wide as the terminal, or `width` where there is none.

    What is printed is text: what a name has in brackets, or between colons, is no markup.
    """
    from rich.console import Console

    plain = partial(Console, highlight=False, markup=False, emoji=False)
    console = plain()
    return console if console.is_terminal else plain(width=width)


def print_table(console: "Console", table: "TextTable", bold: str | None = None) -> None:
    """Print a table and its notes; the row that begins with `bold` stands out."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=table.title or None, title_justify="left", box=None, pad_edge=False)
    grid.padding = (0, 1, 0, 0)
    for place, heading in enumerate(table.headings):
        is_word = place < table.words
        grid.add_column(heading, justify="left" if is_word else "right", overflow="fold")
    for row in table.rows:
        grid.add_row(*map(Text, row), style="bold" if row[0] == bold else None)
    console.print(grid)
    if table.notes:
        console.print()
    for note in table.notes:
        console.print(f"- {note}")


def progress_bars(console: "Console", *, width: int = 0, transient: bool = False) -> "Progress":
    """Return bars with percentage and time, hidden without a terminal; `width` is of the names."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn(f"{{task.description:<{width}}}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=console,
        transient=transient,
        disable=not console.is_terminal,
    )
