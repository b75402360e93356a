"""`sparsebandits dashboard FILE`: the same pages on a file, and nothing is written."""

import asyncio
import html
import json
from pathlib import Path

import httpx
import pytest

import sparsebandits as sb
from sparsebandits.dashboard.file_app import file_app, read_learner
from sparsebandits.sweeps import sweep
from tests.cli import in_process

NAMES = ["tv", "radio", "print", "search"]


class Visit:
    """Requests to the pages on a file, without a socket."""

    def __init__(self, path: Path) -> None:
        self._app = file_app(path, "127.0.0.1")

    def get(self, path: str, *, method: str = "GET", **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", follow_redirects=True
            ) as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(send())


def saved_learner() -> sb.Learner:
    mix = sb.Box([0] * 4, [1] * 4, names=NAMES)
    learner = sb.SparseThompson(action_set=mix, sparsity=2).start(0)
    for step in range(60):
        decision = learner.ask()
        learner.tell(decision, float(decision.action @ [0.1, 0.9, 0.2, 0.5]) + 0.1 * (-1) ** step)
    learner.ask()
    return learner


def pages_of(policy: sb.Policy, rewards: list[float], folder: Path) -> tuple[str, str]:
    """Return the first page of a learner that was told these rewards, and that on what if."""
    learner, path = policy.start(0), folder / "told.json"
    for reward in rewards:
        learner.tell(learner.ask(), reward)
    path.write_text(json.dumps(learner.to_dict()))
    client = Visit(path)
    page, other = client.get("/"), client.get("/learners/told/what-if")
    assert (page.status_code, other.status_code) == (200, 200)
    return page.text, other.text


def test_policies_that_keep_little_are_shown_with_what_they_have(tmp_path: Path) -> None:
    mix, rewards = sb.Box([0] * 4, [1] * 4, names=NAMES), [1.0, 0.2, 0.4, 0.1] * 50
    page, other = pages_of(sb.CSAR(action_set=mix, sparsity=2, sigma=0.1), rewards, tmp_path)
    assert "<dt>Told or forgotten</dt><dd>200</dd>" in page
    assert "No reward yet" not in page
    assert "noise" not in page  # it reckons with none
    assert 'id="chart-estimates"' in page
    assert "share of draws from the posterior whose" not in page
    assert "worth of a decision</p>" in other  # nothing of a baseline
    page, other = pages_of(sb.RandomSparse(action_set=mix, sparsity=2), rewards, tmp_path)
    assert "still to come" not in page + other
    assert "plays at random never has" in other
    thompson = sb.SparseThompson(action_set=mix, sparsity=2)
    page, other = pages_of(thompson, rewards, tmp_path)
    assert "share of draws from the posterior whose" in page
    assert "worth of a decision, above the baseline</p>" in other
    page, other = pages_of(thompson, [0.7] * 40, tmp_path)
    assert "every effect is 0" in page
    assert "every effect is 0" in other
    page, _ = pages_of(thompson, [0.7], tmp_path)
    assert "1 reward so far" in page


def test_links_that_sort_keep_all_rows_and_names_that_are_long_get_the_width(
    tmp_path: Path,
) -> None:
    policy = sb.SparseThompson(action_set=sb.LpBall(60), sparsity=2)
    (tmp_path / "wide.json").write_text(json.dumps(policy.start(0).to_dict()))
    client = Visit(tmp_path / "wide.json")
    page = html.unescape(client.get("/learners/wide?rows=all").text)
    assert 'href="?sort=name&rows=all"' in page
    page = html.unescape(client.get("/learners/wide").text)
    assert 'href="?sort=name"' in page
    assert 'class="beside"' in page
    names = [f"ingredient number {k} of the supplier" for k in range(4)]
    long = sb.SparseThompson(action_set=sb.Box([0] * 4, [1] * 4, names=names), sparsity=2)
    assert 'class="beside long"' in pages_of(long, [0.5], tmp_path)[0]


@pytest.mark.parametrize("is_text", [True, False])
def test_a_saved_learner(tmp_path: Path, is_text: bool) -> None:
    learner, path = saved_learner(), tmp_path / "my learner.saved"
    content = json.dumps(learner.to_dict()).encode() if is_text else learner.to_bytes()
    path.write_bytes(content)
    assert read_learner(path).to_dict() == learner.to_dict()
    client = Visit(path)
    page = client.get("/")
    assert page.url.path == "/learners/my-learner"
    assert "radio" in page.text
    assert "last 50 rewards" in page.text
    for place, word in (
        ("/health", "What to do:</strong> Nothing."),
        ("/what-if?sparsity=1", "Instead"),
        ("/decisions?state=open", "61"),
        ("/decisions.csv", "asked_at"),
    ):
        answer = client.get(f"/learners/my-learner{place}")
        assert answer.status_code == 200
        assert word in answer.text
        assert 'method="post"' not in answer.text
    assert client.get("/learners/another").status_code == 404
    assert client.get("/learners/my-learner/tell", method="POST").status_code in (404, 405)
    assert client.get("/", host="evil.example").status_code == 400
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_saved_learner_with_a_context_and_rules(tmp_path: Path) -> None:
    rules = sb.Supports(at_most=1, blocks=[["tv", "radio"]])
    box = sb.Box([0] * 4, [1] * 4, names=NAMES)
    learner = sb.SparseThompson(action_set=box, sparsity=rules, context=1).start(0)
    for step in range(40):
        decision = learner.ask(context=[0.25 * (step % 5)])
        learner.tell(decision, float(decision.action @ [0.1, 0.9, 0.2, 0.5]) + 0.1 * (-1) ** step)
    path = tmp_path / "seen.json"
    path.write_text(json.dumps(learner.to_dict()))
    client = Visit(path)
    page = client.get("/").text
    assert "1 of 3 blocks, box" in page
    assert "context 1</dd>" in page
    assert "Rules: a block counts once: (tv, radio)." in page
    assert "per unit of the coordinate, for a context of zeros" in page
    for query, words in (("", "For a context of zeros."), ("?context=2", "For the context 2.")):
        answer = client.get(f"/learners/seen/what-if{query}").text
        assert words in answer
        assert "H: how many blocks may be on" in answer
        assert ">Instead<" not in answer  # a context is what the answer is for, and no other answer
    assert (
        "For the context 2, both." in client.get("/learners/seen/what-if?context=2&sparsity=2").text
    )
    assert '<td class="spare">0.25</td>' in client.get("/learners/seen/decisions").text


def test_a_sweeps_folder(tmp_path: Path) -> None:
    plan = {
        "trials": 3, "horizon": 60, "sparsity": 1, "axes": {"dim": [4, 5]},
        "policies": [{"kind": "sparse-thompson"}, {"kind": "random-sparse"}],
        "environments": [
            {"action_set": {"kind": "lp-ball"}, "theta_star": {"kind": "uniform-cube"}},
        ],
    }  # fmt: skip
    done = sweep(plan, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in done.folder.rglob("*")}
    cells = sb.compare_sweep(done.folder)
    client = Visit(done.folder)
    page = client.get("/")
    for entry in cells.entries:
        assert entry.label in page.text
        assert entry.regret[60].text() in page.text
    assert "random-sparse" not in client.get("/?search=thompson").text
    known = {"If-None-Match": page.headers["etag"], "X-Live": "1"}
    assert client.get("/", **known).status_code == 304
    cell = client.get("/cells/0")
    assert "number 1 of the 2 policies" in cell.text  # those for the other d are no match
    assert chart_ids(cell) == ["regret", "support"]
    assert '"dash": "dash"' in cell.text  # the other one, to be told apart
    assert client.get("/cells/4").status_code == 404
    assert {path: path.stat().st_mtime_ns for path in done.folder.rglob("*")} == before


def chart_ids(page: httpx.Response) -> list[str]:
    return [part.partition('"')[0] for part in page.text.split('id="chart-')[1:]]


def test_what_is_neither_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    for name, why in (
        ("notes.json", "holds no learner"),
        ("nothing", "does not exist"),
        (".", "holds no sweep"),
    ):
        done = in_process.run("dashboard", str(tmp_path / name), "--no-open")
        assert done.returncode == 2
        assert why in done.stderr
        assert done.stderr.count("\n") == 1
