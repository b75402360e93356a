"""What is drawn, by matplotlib."""

import numpy as np
import pytest

from sparsebandits.plotting.draw import LINES, MARKS, PALETTE, _draw_marks, _draw_series
from sparsebandits.plotting.figure import Panel, Series


def test_seventy_policies_are_told_apart() -> None:
    """By colour, line and mark, or by colour, mark and filling; and no mark hides another."""
    figures = pytest.importorskip("matplotlib.figure")
    at, many = np.arange(3.0), 70
    series = tuple(Series(label=str(n), x=at, y=at, style=n) for n in range(many))
    assert many > max(len(PALETTE) * len(LINES), 2 * len(MARKS))
    panel = Panel(title="", x_label="", y_label="", series=series)
    marks, lines = figures.Figure().subplots(1, 2)
    for each in series:
        _draw_marks(marks, each, panel)
        _draw_series(lines, each, panel)
    looks = {(mark.get_marker(), mark.get_fillstyle(), mark.get_color()) for mark in marks.lines}
    assert len(looks) == many
    assert len({mark.get_xdata()[1] for mark in marks.lines}) == many
    assert all(abs(mark.get_xdata()[1] - 1.0) < 0.5 for mark in marks.lines)  # in its category
    looks = {
        (line.get_color(), str(line._unscaled_dash_pattern), line.get_marker())
        for line in lines.lines
    }
    assert len(looks) == many
