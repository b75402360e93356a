"""A sweep file: its cross product, and what is said about one that is wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.errors import SweepError
from sparsebandits.sweeps.spec import read_sweep
from tests.sweeps.small_sweep import TEXT, small

BALL = {"kind": "lp-ball"}
THETA = {"kind": "uniform-cube"}
WORLD = {"action_set": BALL, "theta_star": THETA}


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


def test_every_combination_is_a_cell_with_a_name(tmp_path: Path) -> None:
    sweep = read_sweep(write(tmp_path))
    keys = [cell.key for cell in sweep.cells]
    assert len(keys) == len(set(keys)) == 2 * 2 * 2 * 2
    assert keys[0] == "sparse-thompson/l1.5-ball/d=4/H=1/sigma=0.1"
    assert keys[-1] == "literal/unit box/d=6/H=3/sigma=0.1"
    last = sweep.cells[-1]
    assert last.columns == {
        "cell": keys[-1],
        "policy": "literal",
        "environment": "unit box",
        "sparsity": 3,
        "dim": 6,
        "horizon": 120,
        "sigma": 0.1,
    }
    box = last.environment.action_set
    assert box == sb.Box(np.zeros(6), np.ones(6))
    assert last.environment.noise == sb.Rademacher(0.1)
    assert isinstance(last.policy, sb.APSEE)
    assert (last.policy.sigma, last.policy.sparsity) == (0.1, 3)
    assert (last.trials, last.points, sweep.seed) == (7, 12, 5)


def test_checkpoints_are_recorded_where_the_horizon_reaches() -> None:
    axes = {"dim": [4], "sparsity": [1], "horizon": [100, 500]}
    sweep = read_sweep(small(horizon=None, sigma=0.1, axes=axes, checkpoints=[333, 77]))
    assert {(cell.horizon, cell.checkpoints) for cell in sweep.cells} == {
        (100, (77,)),
        (500, (333, 77)),
    }


def test_a_file_and_its_content_are_the_same_sweep(tmp_path: Path) -> None:
    path = write(tmp_path, "# another comment\n\n" + TEXT)
    assert read_sweep(path).digest == read_sweep(small()).digest
    assert read_sweep(small(trials=8)).digest != read_sweep(small()).digest
    sweep = read_sweep(small())
    assert read_sweep(sweep) is sweep
    assert read_sweep(sweep.configuration).digest == sweep.digest


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("trials = 7", "trails = 7", ["'trails'", "'trials'"]),
        ("sparsity = [1", "sparsty = [1", ["'sparsty' in [axes]", "mean 'sparsity'"]),
        ('kind = "apsee"', 'kind = "apse"', ["'apse'", "mean 'apsee'"]),
        ('sigma = "known"', "sigm = 0.1", ["'sigm'", "mean 'sigma'"]),
        ("p = 1.5", "q = 1.5", ["'q'", "'p'"]),
        ('"lp-ball"', '"lpball"', ["'lpball'", "mean 'lp-ball'"]),
        ("upper = 1.0", "uper = 1.0", ["'uper'", "mean 'upper'"]),
        ('kind = "rademacher"', 'kind = "rademaker"', ["'rademaker'", "mean 'rademacher'"]),
        ("gap = 0.2 }", "gip = 0.2 }", ["'gip'", "mean 'gap'"]),
        ('label = "unit box"', 'lable = "unit box"', ["'lable'", "mean 'label'"]),
        ("points = 12", "points = 1.5", ["points", "integer of at least 1", "1.5"]),
        ("points = 12", "checkpoints = 5", ["checkpoints", "list of steps", "5"]),
        ("points = 12", "checkpoints = [0]", ["checkpoints", "integer of at least 1", "0"]),
        ("points = 12", "checkpoints = [99999]", ["checkpoints", "within the horizon", "99999"]),
        ("seed = 5", "seed = true", ["seed", "integer", "True"]),
        ("sigma = [0.1]", "sigma = [-0.1]", ["sigma", "at least 0", "-0.1"]),
        ("sigma = [0.1]", "sigma = 0.1", ["axes.sigma must be a list"]),
        ("sigma = [0.1]", "sigma = [0.1, 0.1]", ["twice"]),
        ("sigma = [0.1]", "horizon = [10]", ["'horizon' is given at the top and under [axes]"]),
        ('label = "literal"', 'label = "a/b"', ["without '/'"]),
        ('label = "literal"', "sparsity = 2", ["'sparsity' does not belong to a policy"]),
        ('sigma = "known"', "sigma = -1.0", ["sigma", "-1.0", "literal/l1.5-ball/d=4"]),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, right: str, wrong: str, words: list[str]
) -> None:
    assert TEXT.count(right) == 1
    text = TEXT.replace(right, wrong)
    path = write(tmp_path, text)
    with pytest.raises(SweepError) as caught:
        read_sweep(path)
    message = str(caught.value)
    assert f"{path}, line {line_of(text, wrong)}: " in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trials": None}, "'trials' is missing"),
        ({"axes": {"dim": [4]}}, "'sparsity' is missing"),
        ({"policies": []}, "[[policies]]"),
        ({"policies": [{"kind": "apsee"}, {"kind": "apsee"}]}, "both called 'apsee'"),
        ({"policies": [{"label": "x"}]}, "'kind' is missing"),
        ({"environments": [{"theta_star": THETA}]}, "exactly one of 'action_set'"),
        ({"environments": [{"action_set": BALL}]}, "'theta_star' is missing"),
        ({"environments": [{**WORLD, "noise": "loud"}]}, "noise must be a table"),
        ({"axes": {"sparsity": [1]}}, "the set 'lp-ball' has no size"),
        (
            {"environments": [{**WORLD, "action_set": {"kind": "lp-ball", "dim": 4}}]},
            "dim is set for the whole sweep, but the set 'lp-ball' has dim = 4",
        ),
        (
            {
                "environments": [
                    {**WORLD, "action_set": {"kind": "ellipsoid", "matrix": [[1.0]]}},
                ]
            },
            "'ellipsoid' has a size of its own",
        ),
        (
            {"environments": [{**WORLD, "noise": {"kind": "gaussian", "sigma": 1.0}}]},
            "the noise 'gaussian' has sigma = 1.0",
        ),
        (
            {"environments": [{**WORLD, "theta_star": {"kind": "sparse", "nonzeros": 5}}]},
            "nonzeros must be at most dim = 4",
        ),
        ({"axes": {"dim": [4], "sparsity": [1]}}, "'rademacher' has no level; add scale"),
        ({"axes": {"dim": [4], "sparsity": [1, 5]}}, "H = 5 is above d = 4"),
        ({"policies": [{"kind": "csar"}]}, "the cell csar/l1.5-ball/d=4/H=1/sigma=0.1 cannot run"),
        (
            {"policies": [{"kind": "csar"}], "environments": [WORLD], "skip_impossible": True},
            "nothing is left to run",
        ),
    ],
)
def test_what_does_not_fit_is_said_before_the_run(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SweepError) as caught:
        read_sweep(small(**changes))
    assert words in str(caught.value)


def test_the_impossible_is_skipped_if_asked() -> None:
    policies = [{"kind": "lin-ts"}, {"kind": "csar"}]
    axes = {"dim": [4], "sparsity": [1, 5]}
    sweep = read_sweep(small(policies=policies, axes=axes, sigma=0.1, skip_impossible=True))
    assert [cell.key for cell in sweep.cells] == [
        "lin-ts/l1.5-ball/d=4/H=1",
        "lin-ts/unit box/d=4/H=1",
        "csar/unit box/d=4/H=1",
    ]
    skipped = {one.key: one.reason for one in sweep.skipped}
    assert "CSAR needs a Box" in skipped["csar/l1.5-ball/d=4/H=1"]
    assert skipped["lin-ts/unit box/d=4/H=5"] == "H = 5 is above d = 4."
    assert len(sweep.cells) + len(skipped) == 8


def test_a_policy_is_told_the_horizon_of_its_cell() -> None:
    policies = [{"kind": "explore-then-commit"}, {"kind": "estc"}]
    axes = {"dim": [4], "sparsity": [1], "horizon": [9, 90]}
    sweep = read_sweep(small(policies=policies, horizon=None, sigma=0.1, axes=axes))
    told = [getattr(cell.policy, "horizon", None) for cell in sweep.cells]
    assert told == [cell.horizon for cell in sweep.cells]
    own = read_sweep(small(policies=[{"kind": "estc", "exploration_steps": 20}]))
    assert getattr(own.cells[0].policy, "horizon", 0) is None


def test_no_sigma_is_known_where_there_is_none() -> None:
    heavy = [{**WORLD, "noise": {"kind": "student-t"}}]
    with pytest.raises(SweepError, match="is not sub-Gaussian"):
        read_sweep(small(environments=heavy))


def test_sets_with_their_own_size_and_sets_that_move() -> None:
    environments: list[dict[str, Any]] = [
        {"label": "cube", "action_set": {"kind": "lp-ball", "dim": 3, "p": float("inf")}},
        {"label": "box", "action_set": {"kind": "box", "dim": 2, "lower": -1, "upper": [1.0, 2.0]}},
        {
            "label": "moving",
            "action_sets": {
                "kind": "alternating",
                "sets": [
                    {"kind": "lp-ball", "dim": 2},
                    {"kind": "box", "lower": [0, 0], "upper": [1, 1]},
                ],
            },
        },
        {
            "label": "some",
            "action_sets": {
                "kind": "random-availability",
                "probability": 0.5,
                "action_set": {"kind": "budget", "dim": 4, "total": 2.0, "upper": 1.0},
            },
            "delay": {"kind": "uniform", "longest": 3},
        },
    ]
    sweep = read_sweep(
        {
            "trials": 1,
            "horizon": 10,
            "sparsity": 1,
            "policies": [{"kind": "sparse-thompson"}],
            "environments": [{**one, "theta_star": THETA} for one in environments],
        }
    )
    assert [cell.environment.dim for cell in sweep.cells] == [3, 2, 2, 4]
    assert sweep.cells[0].key == "sparse-thompson/cube"
    assert read_sweep(sweep.configuration).digest == sweep.digest
    grown = read_sweep(
        {
            "trials": 1,
            "horizon": 10,
            "sparsity": 1,
            "dim": 5,
            "policies": [{"kind": "sparse-thompson"}],
            "environments": [
                {
                    "theta_star": THETA,
                    "action_sets": {"kind": "alternating", "sets": [BALL, {**BALL, "p": 1.0}]},
                }
            ],
        }
    )
    assert grown.cells[0].environment.dim == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed = ", "is not valid TOML"),
        ("seed = 1\n", "is missing"),
        ("[[seed]]\n", "seed must be"),
    ],
)
def test_a_file_that_is_no_sweep(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SweepError, match=words):
        read_sweep(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="does not exist"):
        read_sweep(tmp_path / "none.toml")
    with pytest.raises(SweepError, match="cannot be read"):
        read_sweep(tmp_path)
    wrong: Any = 7
    with pytest.raises(SweepError, match="path to a TOML file"):
        read_sweep(wrong)
