"""What is drawn, by matplotlib."""

import numpy as np
import pytest

from sparsebandits.plotting.draw import MARKS, _draw_marks, _draw_series
from sparsebandits.plotting.figure import Panel, Series


def test_twenty_policies_are_told_apart() -> None:
    """By colour and line, or by colour, mark and filling."""
    figures = pytest.importorskip("matplotlib.figure")
    at = np.arange(3.0)
    series = [Series(label=str(n), x=at, y=at + n, style=n) for n in range(20)]
    assert len(series) > len(MARKS)
    panel = Panel(title="", x_label="", y_label="", series=tuple(series))
    marks, lines = figures.Figure().subplots(1, 2)
    for each in series:
        _draw_marks(marks, each)
        _draw_series(lines, each, panel)
    seen = {
        (artist.get_marker(), artist.get_markerfacecolor(), artist.get_markeredgecolor())
        for artist in marks.lines
    }
    assert len(seen) == 20
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines.lines}) == 20
