"""The recommendation on real data: its cells, what is judged, and what is stated about it."""

import pytest

from sparsebandits.environments import film_recommendation
from sparsebandits.environments.films import FILMS_SHA256
from sparsebandits.environments.paper_setting import LONG, SHORT, SIGMA, TRIALS
from sparsebandits.paper.experiment import Size
from sparsebandits.paper.figures.video_real import FEW
from sparsebandits.paper.geometry import MANY
from sparsebandits.paper.table import EXPERIMENTS
from sparsebandits.policies import CompactAPSEEG

EXPERIMENT = EXPERIMENTS["video-real"]


def test_it_stands_beside_the_papers_example() -> None:
    names = list(EXPERIMENTS)
    assert names.index("video-real") == names.index("video") + 1


@pytest.mark.parametrize(("size", "long"), [("paper", (20_000, TRIALS)), ("full", (LONG, FEW))])
def test_its_cells_play_the_films_with_a_valid_sigma(size: Size, long: tuple[int, int]) -> None:
    films = film_recommendation()
    cells = {cell.key: cell for cell in EXPERIMENT.cells(size)}
    assert cells["literal-short"].horizon == SHORT
    assert cells["literal-long"].horizon == LONG
    for cell in cells.values():
        assert cell.environment == films
        assert cell.policy.action_set == films.action_set
    paper = [cell for cell in cells.values() if cell.key.startswith("literal-")]
    for cell in paper:
        assert cell.trials == (MANY if cell.key == "literal-many" else TRIALS)
        assert isinstance(cell.policy, CompactAPSEEG)
        assert cell.policy.sigma == films.sigma > films.noise.standard_deviation
    # Beside the paper's algorithm, told no sigma.
    for name, steps_and_trials in (("short", (SHORT, TRIALS)), ("long", long)):
        for label in ("SparseThompson", "LinTS"):
            cell = cells[f"{label}-{name}"]
            assert (cell.horizon, cell.trials) == steps_and_trials
            assert cell.policy.to_dict()["sigma"] == "estimate"
    assert EXPERIMENTS["video"].cells("paper")[0].policy.to_dict()["sigma"] == SIGMA


def test_a_quick_run_gives_one_figure_and_the_claims_of_the_theorem() -> None:
    cells = EXPERIMENT.cells("quick")
    results = {cell.key: cell.simulate(0, 0, cell.trials) for cell in cells}
    outcome = EXPERIMENT.outcome(results)
    (figure,) = outcome.figures
    assert figure.id == EXPERIMENT.id
    assert len(figure.panels) == 3
    for panel in figure.panels:
        assert [series.label for series in panel.series][1:] == ["SparseThompson", "LinTS"]
        assert len({series.style for series in panel.series}) == 3
    assert {claim.label for claim in outcome.claims} == {"ours"}
    assert [claim.id for claim in outcome.claims] == ["video-real-rate", "video-real-theorem"]
    # theta* is the same in every trial: the sum of its five largest entries.
    best = sorted(film_recommendation().to_dict()["theta_star"])[-5:]
    assert results["literal-long"].optimum == pytest.approx([sum(best)] * 4, rel=1e-12)


def test_provenance_licence_noise_and_hash_are_stated() -> None:
    stated = " ".join(EXPERIMENT.decisions)
    for words in ("bokeh_sampledata 2026.1", "CC0-1.0", "residual", FILMS_SHA256):
        assert words in stated
    assert EXPERIMENT.about.startswith("Not in the paper")
