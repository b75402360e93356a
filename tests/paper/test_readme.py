"""The table of docs/rerun.md follows from summary.json by a command."""

import json
from pathlib import Path
from typing import Any

import pytest

import sparsebandits as sb
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.readme import BEGIN, END, ROWS, verdict_table, write_table
from sparsebandits.paper.table import EXPERIMENTS, IDS
from tests.cli import in_process
from tests.paper.test_experiments import quick_outcome
from tests.paper.test_lemmas import EXPECTED


def claim(name: str, verdict: Any = "holds", **more: Any) -> dict[str, Any]:
    texts = {"label": "thm:x", "statement": "s.", "measured": "m 1.", "experiment": name[:7]}
    return Claim(id=name, verdict=verdict, **{**texts, **more}).to_dict()


@pytest.fixture
def summary() -> dict[str, Any]:
    return {
        "seed": 0,
        "quick": False,
        "to_come": [],
        "experiments": list(IDS),
        "claims": [
            claim("l2-ball-rate", "fails", brief="exponent 1.00", experiment="l2-ball"),
            claim("ellipsoid-rate", brief="exponent 0.50 | x", experiment="ellipsoid"),
            claim("matches-minimax", "fails", brief="exponent 0.98"),
            claim("bases-anything", "not testable"),
        ],
        "ours": [claim("ours-a", label="ours"), claim("ours-b", "fails", label="ours")],
    }


def test_the_table_says_what_the_summary_says(summary: dict[str, Any]) -> None:
    table = verdict_table(summary)
    assert (
        "judges 4 claims of the paper: 1 hold, 0 hold with a stated change, 2 fail and 1 are"
        in (table)
    )
    assert "Of 2 that are ours and counted apart, 1 hold and 1 fail." in table
    assert "| matches the minimax lower bound | fails | exponent 0.98 |" in table
    mixed = "holds (1), fails (1) | l2-ball: exponent 1.00; ellipsoid: exponent 0.50 \\| x |"
    assert f"| it is of order sqrt(T) | {mixed}" in table
    assert "| the basis does not matter | not testable | m 1. |" in table
    assert "linear in d" not in table


def test_every_row_names_claims_that_exist() -> None:
    outcomes = [quick_outcome(name).claims for name in ("l1-ball", "l2-ball", "dimensions")]
    known = {claim.id for claims in outcomes for claim in claims} | set(EXPECTED)
    # The other sets have the same claims, and the ids of the other experiments their own prefix.
    alike = {"l1.5-ball": "l2-ball", "ellipsoid": "l2-ball", "video": "l1-ball"}
    for text, patterns in ROWS:
        for pattern in patterns:
            if pattern.endswith("*"):
                assert pattern.removesuffix("-*") in EXPERIMENTS, text
                continue
            for name, like in alike.items():
                if pattern.startswith(f"{name}-"):
                    pattern = pattern.replace(name, like)
            assert pattern in known, text


def test_the_command_rewrites_what_stands_between_the_comments(
    summary: dict[str, Any], tmp_path: Path
) -> None:
    report, readme = tmp_path / "report", tmp_path / "README.md"
    report.mkdir()
    (report / "summary.json").write_text(json.dumps(summary))
    readme.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    for _ in range(2):  # again: the same
        done = in_process.run("reproduce", "--table", readme, "--out", report)
        assert done.returncode == 0, done.stderr
        assert readme.read_text() == (
            f"# Title\n\n{BEGIN}\n{verdict_table(summary)}{END}\n\nmore\n"
        )


@pytest.mark.parametrize("text", ["no comments", f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_file_without_the_comments_is_left_alone(
    summary: dict[str, Any], tmp_path: Path, text: str
) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    readme = tmp_path / "README.md"
    readme.write_text(text)
    done = in_process.run("reproduce", "--table", readme, "--out", tmp_path)
    assert done.returncode == 2
    assert "verdicts: begin" in done.stderr
    assert readme.read_text() == text


def test_part_of_a_report_is_no_source(summary: dict[str, Any], tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n")
    with pytest.raises(sb.SparseBanditsError, match="make reproduce"):
        write_table(readme, tmp_path)
    partial = {**summary, "experiments": ["l2-ball"]}
    (tmp_path / "summary.json").write_text(json.dumps(partial))
    with pytest.raises(sb.SparseBanditsError, match=r"without .*ellipsoid"):
        write_table(readme, tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "quick": True}))
    with pytest.raises(sb.SparseBanditsError, match="a quick look"):
        write_table(readme, tmp_path)
