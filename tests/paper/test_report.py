"""`reproduce --quick` end to end, and the page in a real browser."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sparsebandits.comparison.scenarios import GEOMETRIES, ROBUSTNESS
from sparsebandits.paper.claim import VERDICTS
from sparsebandits.paper.table import EXPERIMENTS

FIGURES_OF_THE_PAPER = {
    "fig:case4",
    "fig:ellipsoid pro",
    "fig:app_basis_actions",
    "fig:app_support_recovery",
    "fig:case1_app",
    "fig:case2_app",
    "fig:case3_app",
    "fig:video_rec",
}
CLAIM_LABELS = {
    "lemma:ols-bound-hp",
    "lemma:stopping_condition_l2ball",
    "lemma:general_consistency",
    "lemma:C_0",
    "eqn:lipschitz_valuefunction",
    "eqn:lipschitz_gradient",
    "prop:l2_exact_solution",
    "prop:submodularity_general",
    "thm:regret_adaptive",
    "thm:regret_general",
    "thm:regret_general_compact",
    "fig:app_basis_actions",
    "fig:app_support_recovery",
}


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from sparsebandits.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "reproduce", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    done = command("--quick", "--workers", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "claims" in done.stdout
    return out


@pytest.fixture(scope="module")
def summary(report: Path) -> Any:
    return json.loads((report / "summary.json").read_text())


def test_every_figure_of_the_paper_is_there(report: Path, summary: Any) -> None:
    assert {figure["label"] for figure in summary["figures"].values()} >= FIGURES_OF_THE_PAPER
    for name in summary["figures"]:
        for path in (f"figures/{name}.svg", f"figures/{name}.png", f"curves/{name}.csv"):
            assert (report / path).stat().st_size > 1000, path


def test_figures_state_what_was_run(summary: Any) -> None:
    for figure in summary["figures"].values():
        notes = " ".join(figure["notes"])
        assert "seed 0" in notes
        assert "trials" in notes
        assert re.search("exact optimum|greedy on theta", notes)
        assert re.search("scale", notes)
    assert "never locks" in " ".join(summary["figures"]["l2-ball"]["notes"])


def test_every_claim_has_a_verdict_and_a_number(summary: Any) -> None:
    claims = summary["claims"]
    assert {claim["label"] for claim in claims} >= CLAIM_LABELS
    assert len({claim["id"] for claim in claims}) == len(claims)
    for claim in claims:
        assert claim["verdict"] in VERDICTS
        assert any(character.isdigit() for character in claim["measured"])
        assert claim["statement"].endswith(".")
    assert {"version", "packages", "seed", "seconds", "machine", "python"} <= set(summary)


def test_running_again_takes_everything_from_the_cache(report: Path, summary: Any) -> None:
    before = {path: path.stat().st_mtime_ns for path in report.glob("cache/steps.parquet/*/*")}
    assert command("--quick", "--workers", 2, "--out", report).returncode == 0
    after = {path: path.stat().st_mtime_ns for path in report.glob("cache/steps.parquet/*/*")}
    assert after == before
    assert before
    again = json.loads((report / "summary.json").read_text())
    assert again["claims"] == summary["claims"]


def test_some_ids_json_and_bad_input(tmp_path: Path) -> None:
    done = command("l1-ball", "--quick", "--workers", 1, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["experiments"] == ["l1-ball"]
    assert set(json.loads(done.stdout)["figures"]) == {"l1-ball"}
    wrong = command("l3-ball", "--out", tmp_path)
    assert wrong.returncode == 2
    assert "Unknown experiment 'l3-ball'" in wrong.stderr
    for name in EXPERIMENTS:
        assert name in wrong.stderr


def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "The page is checked in Chromium: run `make browser`, or install chromium."
    return found


FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
)


BROWSERS_OWN = {
    "accounts.google.com/",
    "clients2.google.com/",
    "update.googleapis.com/",
    "www.google.com/async/folae",
}
"""What Chromium itself tries at a start, whatever page is open; no host is resolved here."""


def visit(page: Path, folder: Path, width: int = 1280) -> tuple[Path, list[str], set[str]]:
    """Open a page; return its picture, the console lines, and the URLs that it asked for."""
    log, picture = folder / "net.json", folder / "page.png"
    done = subprocess.run(
        [
            browser(),
            *FLAGS,
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--enable-logging=stderr",
            f"--window-size={width},2000",
            f"--screenshot={picture}",
            f"file://{page}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    found = set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text(errors="replace")))
    return picture, console, {url for url in found if not is_browsers_own(url)}


def is_browsers_own(url: str) -> bool:
    parts = urlsplit(url)
    return any(f"{parts.hostname}{parts.path or '/'}".startswith(own) for own in BROWSERS_OWN)


@pytest.fixture(scope="module")
def on_a_blank_page(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return what this release of the browser asks for, besides, with nothing to show."""
    folder = tmp_path_factory.mktemp("blank")
    (folder / "blank.html").write_text("<!doctype html><title>blank</title>")
    return visit(folder / "blank.html", folder)[2]


@pytest.mark.parametrize(
    ("page", "width"), [("index.html", 1280), ("index.html", 390), ("field.html", 1280)]
)
def test_the_page_opens_from_disk_without_network_or_errors(
    report: Path, tmp_path: Path, on_a_blank_page: set[str], page: str, width: int
) -> None:
    picture, console, urls = visit(report / page, tmp_path, width)
    assert picture.stat().st_size > 20_000
    assert console == []
    assert urls - on_a_blank_page == set()


def test_a_page_that_does_reach_out_would_be_caught(
    tmp_path: Path, on_a_blank_page: set[str]
) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<link rel="stylesheet" href="http://fonts.googleapis.com/css"><script>undefined_name()</script>'
    )
    _, console, urls = visit(page, tmp_path)
    assert urls - on_a_blank_page == {"http://fonts.googleapis.com/css"}
    assert any("undefined_name" in line for line in console)


def test_the_page_needs_nothing_beside_it(report: Path) -> None:
    page = (report / "index.html").read_text()
    assert "<script" not in page
    assert not re.search(r'(src|href)="https?://', page)
    assert not re.search(r"@import|url\((?!#)", page.split("</style>")[0])
    assert page.count("<figure>") == 10
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_what_is_ours_has_a_page_of_its_own(report: Path, summary: Any) -> None:
    index, field = ((report / name).read_text() for name in ("index.html", "field.html"))
    assert 'href="field.html#field"' in index
    assert 'href="field.html#robustness"' in index
    assert 'href="index.html"' in field
    assert field.count("<figure>") == 6  # five geometries, and the scenarios
    assert "<script" not in field
    assert not re.search(r'(src|href)="https?://', field)
    ids = re.findall(r'\bid="([^"]+)"', field)
    assert len(ids) == len(set(ids))
    # The paper's count is not touched by what we say ourselves.
    assert all(claim["label"] != "ours" for claim in summary["claims"])
    assert [claim["label"] for claim in summary["ours"]] == ["ours"] * len(ROBUSTNESS)
    for scenario in ROBUSTNESS:
        assert scenario.about in field.replace("&#x27;", "'")
    assert len(summary["tables"]["field"]) == 1 + len(GEOMETRIES)
    overview = summary["tables"]["field"][0]
    assert overview["headings"] == ["policy", *(one.name for one in GEOMETRIES)]
    assert overview["rows"][0][0] == "SparseThompson"
    assert {row[0] for row in overview["rows"]} >= {"the paper, literal", "LinTS", "clairvoyant"}
