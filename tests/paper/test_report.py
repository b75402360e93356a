"""`reproduce --quick`: the pages grow as experiments are done, and open in a real browser."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sparsebandits as sb
from sparsebandits.comparison.scenarios import ROBUSTNESS
from sparsebandits.paper.claim import VERDICTS
from sparsebandits.paper.page import _templates
from sparsebandits.paper.report import reproduce
from sparsebandits.paper.table import EXPERIMENTS
from tests.browsers import find_chromium
from tests.cli import in_process

NAMES = ("case4", "robustness", "lemmas")
"""Two figures of the paper, what is ours, and the lemmas: test_experiments.py has the others."""


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from sparsebandits.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "reproduce", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    made = reproduce(NAMES, size="quick", out=out)
    assert json.loads(json.dumps(made.to_dict())) == json.loads((out / "summary.json").read_text())
    return out


@pytest.fixture(scope="module")
def summary(report: Path) -> Any:
    return json.loads((report / "summary.json").read_text())


def test_every_figure_has_its_files_under_the_papers_label(report: Path, summary: Any) -> None:
    assert set(summary["figures"]) == {"case4", "ellipsoid-pro", "robustness"}
    for name in summary["figures"]:
        for path in (f"figures/{name}.svg", f"figures/{name}.png", f"curves/{name}.csv"):
            assert (report / path).stat().st_size > 1000, path


def test_the_summary_has_every_claim_and_how_it_was_made(summary: Any) -> None:
    claims, ours = summary["claims"], summary["ours"]
    every = claims + ours
    assert len({claim["id"] for claim in every}) == len(every) > 50
    assert {claim["verdict"] for claim in every} <= set(VERDICTS)
    assert {claim["experiment"] for claim in claims} == {"ellipsoid", "lemmas"}
    assert all(claim["otherwise"] for claim in every)
    # The paper's count is not touched by what we say ourselves, wherever that stands.
    assert {claim["label"] for claim in ours} == {"ours"}
    assert "ours" not in {claim["label"] for claim in claims}
    assert len(ours) == len(ROBUSTNESS) + len([c for c in ours if c["experiment"] == "lemmas"])
    assert sum(summary["counts"].values()) == len(claims)
    assert all(check["made_to"] == check["verdict"] for check in summary["judges"])
    assert {"version", "packages", "seed", "seconds", "machine", "python"} <= set(summary)
    assert (summary["quick"], summary["size"], summary["to_come"]) == (True, "quick", [])


# ---------------------------------------------------------------------- while it is made


def test_the_page_grows_and_an_interrupted_rerun_goes_on_where_it_was(tmp_path: Path) -> None:
    page, names = tmp_path / "index.html", ["case3_app", "case1_app"]
    first, second = EXPERIMENTS["l1-ball"], EXPERIMENTS["l2-ball"]

    def interrupt(name: str, done: int, total: int) -> None:
        text = page.read_text()
        assert f"<li>{second.title}</li>" in text  # still to come
        is_there = done == total and name == first.id
        assert (f'id="{first.id}"' in text) == is_there
        assert (f"<li>{first.title}</li>" not in text) == is_there
        if is_there:
            assert (tmp_path / "figures" / "case3_app.svg").exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(names, size="quick", out=tmp_path, progress=interrupt)
    assert json.loads((tmp_path / "summary.json").read_text())["to_come"] == [second.id]
    parts = (tmp_path / "cache" / "steps.parquet").glob("*/*.parquet")
    chunks = {path: path.stat().st_mtime_ns for path in parts}
    assert chunks
    reproduce(names, size="quick", out=tmp_path)
    assert all(path.stat().st_mtime_ns == before for path, before in chunks.items())
    assert json.loads((tmp_path / "summary.json").read_text())["to_come"] == []
    assert "Still to come" not in page.read_text()


def test_labels_lines_json_and_bad_input(tmp_path: Path) -> None:
    done = command("fig:case3_app", "--quick", "--workers", 1, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["experiments"] == ["l1-ball"]
    assert set(json.loads(done.stdout)["figures"]) == {"case3_app"}
    # No terminal here: plain lines say where the page is and what is done.
    assert str(tmp_path / "index.html") in done.stderr.replace("\n", "")
    assert re.search(r"^ *\d+ s  l1-ball: done$", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr
    wrong = in_process.run("reproduce", "l3-ball", "--full", "--out", tmp_path)
    assert wrong.returncode == 2
    assert "may take an hour" in wrong.stdout
    assert "Unknown experiment 'l3-ball'" in wrong.stderr
    assert in_process.run("reproduce", "--quick", "--full").returncode == 2


def test_the_help_lists_every_name() -> None:
    text = in_process.run("reproduce", "--help").stdout
    assert "\\b" not in text
    for name in (*EXPERIMENTS, "lemmas", "case4", "ellipsoid-pro", "appendix_experiments"):
        assert name in text


# ---------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def chromium() -> str:
    return find_chromium()


def test_only_ci_insists_on_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Chromium"):
        find_chromium()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no Chromium"):
        find_chromium()


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


def visit(
    chromium: str, page: Path, folder: Path, width: int = 1280
) -> tuple[Path, list[str], set[str]]:
    """Open a page; return its picture, the console lines, and the URLs that it asked for."""
    log, picture = folder / "net.json", folder / "page.png"
    done = subprocess.run(
        [
            chromium,
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
    urls = set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text(errors="replace")))
    return picture, console, {url for url in urls if not is_browsers_own(url)}


def is_browsers_own(url: str) -> bool:
    parts = urlsplit(url)
    return any(f"{parts.hostname}{parts.path or '/'}".startswith(own) for own in BROWSERS_OWN)


@pytest.fixture(scope="module")
def on_a_blank_page(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return what this release of the browser asks for, besides, with nothing to show."""
    folder = tmp_path_factory.mktemp("blank")
    (folder / "blank.html").write_text("<!doctype html><title>blank</title>")
    return visit(chromium, folder / "blank.html", folder)[2]


@pytest.mark.parametrize(
    ("page", "width"), [("index.html", 1280), ("index.html", 390), ("field.html", 1280)]
)
def test_the_page_opens_from_disk_without_network_or_errors(
    chromium: str, report: Path, tmp_path: Path, on_a_blank_page: set[str], page: str, width: int
) -> None:
    picture, console, urls = visit(chromium, report / page, tmp_path, width)
    assert picture.stat().st_size > 20_000
    assert console == []
    assert urls - on_a_blank_page == set()


def test_a_page_that_does_reach_out_would_be_caught(
    chromium: str, tmp_path: Path, on_a_blank_page: set[str]
) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<link rel="stylesheet" href="http://fonts.googleapis.com/css"><script>undefined_name()</script>'
    )
    _, console, urls = visit(chromium, page, tmp_path)
    assert urls - on_a_blank_page == {"http://fonts.googleapis.com/css"}
    assert any("undefined_name" in line for line in console)


@pytest.mark.parametrize(("page", "figures"), [("index.html", 2), ("field.html", 1)])
def test_a_page_needs_nothing_beside_it(report: Path, page: str, figures: int) -> None:
    text = (report / page).read_text()
    assert "<script" not in text
    assert not re.search(r'(src|href)="https?://', text)
    assert not re.search(r"@import|url\((?!#)", text.split("</style>")[0])
    assert text.count("<figure>") == figures
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', text):
        assert target in ids


def test_what_is_ours_has_a_page_of_its_own(report: Path) -> None:
    index, field = ((report / name).read_text() for name in ("index.html", "field.html"))
    assert 'href="field.html#robustness"' in index
    assert 'href="index.html"' in field
    for scenario in ROBUSTNESS:
        assert scenario.about in field.replace("&#39;", "'")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(sb.SparseBanditsError, match="cannot be made"):
        reproduce(["case4"], size="quick", out=tmp_path / "file")


def test_without_jinja_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _templates.cache_clear()
    with pytest.raises(sb.SparseBanditsError, match=r"sparsebandits\[paper\]") as refused:
        reproduce(["case4"], size="quick", out=tmp_path)
    assert refused.type is sb.SparseBanditsError  # no solver is to blame
