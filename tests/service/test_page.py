"""docs/service.md and deploy/: what is said there works here."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from sparsebandits.service.calls import CALLS
from sparsebandits.service.metrics import Metrics
from tests.docs.pages import ROOT, blocks
from tests.service.servers import Farm
from tests.stores import new_token

PAGE = ROOT / "docs" / "service.md"
ADDRESS = "http://127.0.0.1:8000"


def test_the_snippets_run(farm: Farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = farm.serve(f"sqlite:///{tmp_path / 'store.db'}")
    monkeypatch.setenv("TOKEN", new_token(server.store))
    [code] = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(code.replace(ADDRESS, server.url), names)
    assert names["reward"] is not None
    [script] = blocks(PAGE, "sh")
    done = subprocess.run(
        ["sh", "-e"], input=script.replace(ADDRESS, server.url), env={**os.environ},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = re.findall(r"\{.*?\}(?=\{|$)", done.stdout.replace("\n", ""))
    assert json.loads(answers[-1]) == {"id": 1, "reward": 0.7, "state": "told"}


def test_every_call_is_in_the_table_with_its_scope() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for call in CALLS:
        line = next(
            line
            for line in text.splitlines()
            if line.startswith("| `")
            and all(
                part in line
                for part in (call.method, call.path.removeprefix("/v1/learners/{key}") or call.path)
            )
            and f"| {call.scope} |" in line
        )
        assert line


def test_the_dashboard_shows_metrics_that_exist() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    metrics = Metrics()
    metrics.requests.labels("ask", "200").observe(0.1)
    exported = set(re.findall(r"^(sparsebandits_\w+)", metrics.text().decode(), re.MULTILINE))
    shown = set(re.findall(r"sparsebandits_\w+", " ".join(expressions)))
    assert shown <= exported
    families = {re.sub(r"_(bucket|sum|count|created|total)$", "", name) for name in exported}
    assert families == {re.sub(r"_(bucket|sum|count|created|total)$", "", name) for name in shown}


def test_the_unit_names_options_that_exist() -> None:
    from sparsebandits.cli.app import app

    unit = (ROOT / "deploy" / "sparsebandits.service").read_text()
    [line] = re.findall(r"^ExecStart=\S+/sparsebandits (.*)$", unit, re.MULTILINE)
    name, *arguments = line.split()
    with app.commands[name].make_context(name, arguments) as parsed:
        assert parsed.params["host"] == "127.0.0.1"
