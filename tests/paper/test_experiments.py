"""Every experiment of the table: what it is called, and that a quick run says what it must."""

import re

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.scenarios import GEOMETRIES, ROBUSTNESS
from sparsebandits.environments.paper_setting import LONG, SHORT, TRIALS
from sparsebandits.paper.claim import VERDICTS
from sparsebandits.paper.experiment import Outcome
from sparsebandits.paper.geometry import MANY
from sparsebandits.paper.table import EXPERIMENTS, find_ids

FIGURES_OF_THE_PAPER = {
    "case4": ["ellipsoid"],
    "ellipsoid pro": ["ellipsoid"],
    "app_basis_actions": ["bases"],
    "app_support_recovery": ["support-recovery"],
    "case1_app": ["l2-ball"],
    "case2_app": ["l1.5-ball"],
    "case3_app": ["l1-ball"],
    "appendix_experiments": ["l2-ball", "l1.5-ball", "l1-ball"],
    "video_rec": ["video"],
}
"""Every label of a figure in the paper's source, and what draws it."""


PROBES = ("literal-quiet", "literal-many")


def quick_outcome(name: str) -> Outcome:
    cells = EXPERIMENTS[name].cells("quick")
    return EXPERIMENTS[name].outcome({cell.key: cell.simulate(0, 0, cell.trials) for cell in cells})


@pytest.mark.parametrize("label", FIGURES_OF_THE_PAPER)
def test_every_label_of_the_paper_names_its_experiments(label: str) -> None:
    assert find_ids(label) == find_ids(f"fig:{label}") == FIGURES_OF_THE_PAPER[label]
    assert find_ids(label.replace(" ", "-")) == FIGURES_OF_THE_PAPER[label]
    for name in FIGURES_OF_THE_PAPER[label]:
        assert find_ids(name) == [name]


def test_an_unknown_name_is_refused_with_all_that_are_known() -> None:
    with pytest.raises(sb.SparseBanditsError, match="Unknown experiment 'case5'") as caught:
        find_ids("case5")
    for name in (*EXPERIMENTS, *FIGURES_OF_THE_PAPER, "lemmas"):
        assert name.replace(" ", "-") in str(caught.value)


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "field"])
def test_a_quick_run_has_figures_that_state_what_was_run(name: str) -> None:
    experiment, outcome = EXPERIMENTS[name], quick_outcome(name)
    for figure in outcome.figures:
        assert figure.label in experiment.labels
        notes = " ".join(figure.notes)
        assert "seed 0" in notes
        assert "trials" in notes
        assert "scale" in notes
        assert re.search("exact optimum|greedy on theta", notes)
        for panel in figure.panels:
            assert panel.series
            assert all(np.isfinite(series.y).all() for series in panel.series)
    assert len({claim.id for claim in outcome.claims}) == len(outcome.claims) > 0
    for claim in outcome.claims:
        assert claim.experiment == name
        assert claim.verdict in VERDICTS
        assert any(character.isdigit() for character in claim.measured)
        assert claim.statement.endswith(".")
        assert claim.is_ours == (experiment.ours or name == "video-real")
        assert claim.otherwise
    if name == "l2-ball":
        assert "never locks" in notes
    if name == "robustness":
        assert len(outcome.claims) == len(ROBUSTNESS)
        assert len(outcome.tables) == 1 + len(ROBUSTNESS)


@pytest.mark.parametrize("name", ["ellipsoid", "l2-ball", "l1.5-ball", "l1-ball", "video"])
def test_figures_of_the_paper_are_run_at_its_own_sizes(name: str) -> None:
    cells = EXPERIMENTS[name].cells("paper")
    assert {cell.horizon for cell in cells} >= {SHORT, LONG} == {2_000, 200_000}
    for cell in cells:
        assert (cell.environment.dim, cell.policy.sparsity) == (20, 5)
        if cell.key in PROBES:  # where the theorem's bound says something, and often enough
            assert cell.trials == MANY
        else:
            assert cell.trials == TRIALS == 20
            assert cell.environment.noise == sb.Gaussian(0.5)
    assert len({cell.key for cell in cells} & set(PROBES)) == 1


def test_the_field_is_laid_out_by_geometry() -> None:
    outcome = quick_outcome("field")
    assert [figure.id for figure in outcome.figures] == [f"field-{x.name}" for x in GEOMETRIES]
    overview, *details = outcome.tables
    assert len(details) == len(GEOMETRIES)
    assert overview.headings == ("policy", *(scenario.name for scenario in GEOMETRIES))
    assert overview.rows[0][0] == "SparseThompson"
    assert {row[0] for row in overview.rows} >= {"the paper, literal", "LinTS", "clairvoyant"}
