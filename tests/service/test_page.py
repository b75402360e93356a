"""docs/service.md and deploy/: what is said there works here."""

import json
import os
import re
import shutil
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
    """Every metric, by labels that it has; and nothing else."""
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    metrics = Metrics()
    metrics.requests.labels("ask", "200").observe(0.1)
    text = metrics.text().decode()
    exported = set(re.findall(r"^(sparsebandits_\w+)", text, re.MULTILINE))
    shown = set(re.findall(r"sparsebandits_\w+", " ".join(expressions)))
    assert shown <= exported
    families = {re.sub(r"_(bucket|sum|count|created|total)$", "", name) for name in exported}
    assert families == {re.sub(r"_(bucket|sum|count|created|total)$", "", name) for name in shown}
    for expression in expressions:
        [name] = set(re.findall(r"sparsebandits_\w+", expression))
        labels = set(re.findall(r"(\w+)=", " ".join(re.findall(rf"^{name}{{(.*)}}", text, re.M))))
        listed = re.findall(r"by \(([^)]*)\)", expression)
        used = {label for part in listed for label in part.split(", ")}
        used |= set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", expression))
        assert used <= labels, expression
    calls = {call.name for call in CALLS}
    asked = re.findall(r'call=~"([^"]*)"', " ".join(expressions))
    assert asked
    assert all(name in calls for names in asked for name in names.split("|"))


def test_the_dashboard_can_be_imported() -> None:
    """There is no Grafana here: what its import reads is there, and each panel finds its source."""
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    assert dashboard["uid"]
    assert dashboard["title"]
    assert "id" not in dashboard  # of the Grafana where it was made
    assert isinstance(dashboard["schemaVersion"], int)
    [source] = dashboard["templating"]["list"]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"]
        assert panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters) > 0
        x, y, width, height = (panel["gridPos"][name] for name in "xywh")
        assert x + width <= 24
        cells = {(x + i, y + j) for i in range(width) for j in range(height)}
        assert not cells & taken
        taken |= cells


def test_the_unit_names_options_that_exist() -> None:
    from sparsebandits.cli.app import app

    unit = (ROOT / "deploy" / "sparsebandits.service").read_text()
    [line] = re.findall(r"^ExecStart=\S+/sparsebandits (.*)$", unit, re.MULTILINE)
    name, *arguments = line.split()
    with app.commands[name].make_context(name, arguments) as parsed:
        assert parsed.params["host"] == "127.0.0.1"
    # Else five starts while the database is away would be the last.
    assert {"Restart=always", "StartLimitIntervalSec=0"} <= set(unit.splitlines())


def test_systemd_reads_the_unit_without_a_word(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = (ROOT / "deploy" / "sparsebandits.service").read_text()
    copy = tmp_path / "sparsebandits.service"
    copy.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit, flags=re.MULTILINE))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout + done.stderr == ""


def test_nginx_takes_the_proxy(tmp_path: Path) -> None:
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    certificate, key = tmp_path / "learners.pem", tmp_path / "learners.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=learners.example.org", "-keyout", key, "-out", certificate],
        capture_output=True, check=True,
    )  # fmt: skip
    proxy = (ROOT / "deploy" / "nginx.conf").read_text()
    proxy = proxy.replace("/etc/ssl/certs/learners.pem", str(certificate))
    proxy = proxy.replace("/etc/ssl/private/learners.key", str(key))
    around = tmp_path / "nginx.conf"
    around.write_text(
        f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {proxy} }}"
    )
    done = subprocess.run(
        ["nginx", "-t", "-p", tmp_path, "-c", around], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr
