"""The dashboard in a real browser: Debian's Chromium, driven by Playwright."""

import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, CDPSession, Page, Route, expect, sync_playwright

import sparsebandits as sb
from sparsebandits.validation import FloatArray
from tests.browsers import find_chromium
from tests.dashboard.logs import write_log
from tests.dashboard.test_page_process import spent, workers
from tests.dashboard.visitors import Visitors
from tests.service import playing
from tests.service.servers import Server
from tests.stores import new_token

NAMES = ["tv", "radio", "print", "search", "social", "mail"]
LONG_LABEL = "<i>APSEE</i> with a label that tells all that it was given, on the unit box"
REDRAW = """([chart, label]) => {
  const figure = document.getElementById(`chart-${chart}`), part = figure.querySelector("script");
  const spec = JSON.parse(part.textContent);
  spec.data[1].name = label;
  part.textContent = JSON.stringify(spec);
  draw(figure);
}"""
TAGGED = ["<b>tv</b> & radio", "age<30", "R&amp;D"]
UNBROKEN = ["a" * 120, "b" * 120, "tv"]
WIDE, NARROW = 1280, 380
OVERHANG = "(e => e.scrollWidth - e.clientWidth)(document.querySelector('.scroll'))"
AXE: Any = importlib.import_module("axe_playwright_python.sync_playwright")  # ships no types


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    """A token, and learners to look at; made before Playwright's event loop runs."""
    fill(server)
    return new_token(server.store)


@pytest.fixture(scope="module")
def browser(token: str) -> Iterator[Browser]:
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Window:
    """A window, and all that went wrong in it."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def log_in(self, token: str) -> None:
        self.page.fill("#token", token)
        self.page.press("#token", "Enter")

    def check(self) -> None:
        """No error, no breach of the content security policy, no request to anyone else."""
        assert self.complaints == []
        assert self.strangers == []


@pytest.fixture
def window(browser: Browser, server: Server) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    page = context.new_page()
    opened = Window(page, server.url)
    # Chromium reports a breach of the policy, and a script that fails, on the console.
    page.on("console", lambda told: note(opened, told.type, told.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith((server.url, "data:"))
            else opened.strangers.append(sent.url))  # fmt: skip
    yield opened
    opened.check()
    context.close()


def note(window: Window, kind: str, text: str) -> None:
    # The answer 401 to a wrong token is no fault of the page.
    if kind in ("error", "warning") and "401" not in text:
        window.complaints.append(text)


def drawn(page: Page, chart: str) -> int:
    """Wait until a chart is drawn; return how many points it has."""
    figure = page.locator(f"#chart-{chart}[data-drawn]")
    expect(figure.locator("svg.main-svg").first).to_be_visible()
    return int(figure.get_attribute("data-drawn") or 0)


def test_from_log_in_to_the_first_rewards(window: Window, visitors: Visitors, token: str) -> None:
    """By keyboard and form alone: log in, create, ask, tell; then watch the chart change."""
    page = window.go("/new")
    expect(page).to_have_title(re.compile("Log in"))
    window.log_in("sb_1234_not-the-token")
    expect(page.get_by_role("alert")).to_contain_text("unknown, revoked or expired")
    window.log_in(token)
    expect(page.get_by_role("heading", level=1)).to_have_text("New learner")
    assert token.split("_", 2)[2] not in page.evaluate("document.cookie")

    page.fill("#key", "spring")
    page.select_option("#set", "box")
    expect(page.locator("#total")).to_be_hidden()
    page.fill("#names", ", ".join(NAMES))
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("#first-action")).to_contain_text("spring is made")
    page.get_by_role("link", name="ask and tell here").click()
    for reward in ("1.5", "0.5"):
        page.get_by_role("button", name="Ask for a decision").click()
        page.locator("tbody input[name=reward]").fill(reward)
        page.locator("tbody").get_by_role("button", name="Tell").click()
        expect(page.get_by_role("status")).to_contain_text(f"has the reward {reward}")

    page.get_by_role("link", name="Learning").click()
    assert drawn(page, "rewards") == 2
    client = visitors.client(token)
    for number in range(3, 23):
        playing.ask(client, "spring")
        playing.tell(client, number, 0.3 * number, "spring")
    # Nobody touches the page: it finds out by itself.
    many = re.compile(r"^(2[2-9]|[3-9]\d|\d{3,})$")  # 22 rewards and more, with the mean's points
    expect(page.locator("#chart-rewards")).to_have_attribute("data-drawn", many, timeout=15_000)
    expect(page.locator("[data-part=facts]")).to_contain_text("22")
    expect(page.locator("#chart-estimates")).to_have_count(1)
    page.get_by_role("link", name="What if").click()
    page.fill("#sparsity", "1")
    page.get_by_label(NAMES[0]).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#answer")).to_contain_text(re.compile("per decision|no difference"))
    instead = page.get_by_role("heading", name="Instead", exact=True).locator("..")
    expect(instead.locator("tbody tr")).to_have_count(1)
    assert NAMES[0] not in instead.inner_text()
    expect(instead).to_contain_text("proven")
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#token")).to_be_visible()


def fill(server: Server) -> None:
    """Learners to look at: a new one, one that learns, one that drifts with 10^4 decisions."""
    rng = np.random.default_rng(0)
    mix = sb.Box([0.0] * 6, [1.0] * 6, names=NAMES)
    thompson = sb.SparseThompson(action_set=mix, sparsity=2)
    ball = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=3)
    theta, many = np.array([0.2, 0.9, -0.1, 0.6, 0.5, 0.1]), np.linspace(-1, 1, 20)

    def learned(number: int, action: FloatArray) -> float:
        return float(action @ theta) + rng.normal()

    def drifting(number: int, action: FloatArray) -> float:
        return number / 5000 + float(action @ many) + rng.normal()

    write_log(server.store, "new", thompson, lambda number, action: None, 2)
    write_log(server.store, "a-campaign", thompson, learned, 150)
    write_log(server.store, "long", ball, drifting, 10_000)
    write_log(server.store, "huge", thompson, lambda n, x: 1e12 * learned(n, x), 20)
    tagged = sb.SparseThompson(action_set=sb.Box([0.0] * 3, [1.0] * 3, names=TAGGED), sparsity=2)
    write_log(server.store, "tagged", tagged, lambda number, action: float(action[0]), 30)
    write_log(server.store, "asked", thompson, lambda number, action: None, 12)
    unbroken = sb.SparseThompson(
        action_set=sb.Box([0.0] * 3, [1.0] * 3, names=UNBROKEN), sparsity=2
    )
    write_log(server.store, "unbroken", unbroken, lambda number, action: float(action[0]), 30)


def test_ten_thousand_decisions_and_every_page(
    window: Window, token: str, server: Server, tmp_path: Path
) -> None:
    page = window.go("/")
    window.log_in(token)
    expect(page.get_by_role("row", name="long")).to_contain_text("10,000")
    expect(page.get_by_text("the last 1,000 events")).to_be_visible()
    # Read where there is time, for the pages with charts.
    expect(page.locator("head script[src*=plotly]")).to_have_count(1)
    held: list[Route] = []
    page.route("**/plotly.min.js*", lambda route: held.append(route))
    window.go("/learners/a-campaign")
    for chart in ("rewards", "loss", "usage", "estimates"):  # nobody waits for plotly to see them
        waiting = page.locator(f"#chart-{chart}[data-sketched]:not([data-drawn]) svg.sketch path")
        expect(waiting.last).to_be_visible()
    assert page.locator("svg.sketch").last.text_content() != ""
    for route in held:
        route.continue_()
    page.unroute("**/plotly.min.js*")
    drawn(page, "rewards")  # plotly is read once for all pages
    expect(page.locator("svg.sketch")).to_have_count(0)

    ticks = page.context.new_cdp_session(page)
    ticks.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = thread_seconds(ticks) + server_seconds(server)
    window.go("/learners/long")
    assert drawn(page, "rewards") == 1000 + 3 * 200
    assert drawn(page, "usage") == 200
    spent = thread_seconds(ticks) + server_seconds(server) - before
    assert spent < 2.0, spent  # of processor time: a machine that is busy takes no part

    expect(window.go("/learners/long/health").locator(".findings")).to_contain_text("look at it")
    for path in ("/new", "/learners/new", "/learners/new/what-if", "/learners/new/decisions"):
        check_page(window, path, NARROW)
    assert page.evaluate(OVERHANG) <= 0  # whoever tells a reward on a phone need not scroll aside
    for path in ("", "/what-if?sparsity=1", "/decisions", "/health"):
        check_page(window, f"/learners/a-campaign{path}", WIDE, NARROW)
    check_page(window, "/", WIDE, NARROW)
    for width in (WIDE, NARROW):  # numbers that take much room leave it to the last column
        page.set_viewport_size({"width": width, "height": 800})
        window.go("/learners/huge")
        assert page.evaluate(OVERHANG) <= 0, width
    for width in (WIDE, NARROW):  # a name that cannot be broken is
        page.set_viewport_size({"width": width, "height": 800})
        for path in ("", "/what-if"):
            window.go(f"/learners/unbroken{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
    check_resize(window, "/learners/a-campaign")
    page.emulate_media(media="print")
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_the_first_rewards_bring_the_chart_of_effects(
    window: Window, visitors: Visitors, token: str
) -> None:
    page = window.go("/learners/asked")
    window.log_in(token)
    assert drawn(page, "usage")
    expect(page.locator("#chart-estimates")).to_have_count(0)
    client = visitors.client(token)
    for number in range(1, 13):
        playing.tell(client, number, 0.1 * number, "asked")
    expect(page.locator("#chart-estimates")).to_have_count(1, timeout=15_000)
    assert drawn(page, "estimates") == len(NAMES)


def test_names_are_drawn_as_they_are_and_low_charts_leave_no_gap(
    window: Window, token: str
) -> None:
    page = window.go("/learners/tagged")
    window.log_in(token)
    for chart in ("usage", "estimates"):
        drawn(page, chart)
        names = page.locator(f"#chart-{chart} .yaxislayer-above text").all_text_contents()
        assert sorted(names) == sorted(TAGGED)
        figure = page.locator(f"#chart-{chart}")
        plot, drawing = (figure.locator(each).first.bounding_box() for each in (".plot", "svg"))
        assert plot is not None
        assert drawing is not None
        assert plot["height"] == pytest.approx(drawing["height"], abs=1)
    page.set_viewport_size({"width": NARROW, "height": 800})  # a sweep's policies have long labels
    page.evaluate(REDRAW, ["rewards", LONG_LABEL])
    label = page.locator("#chart-rewards .legendtext", has_text="APSEE")
    expect(label).to_have_text(re.compile("^<i>APSEE.*box$"))
    box = label.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= NARROW


def test_names_and_numbers_are_short_and_told_apart(window: Window) -> None:
    page = window.go("/login")
    names = [f"ingredient number {k} of the supplier {10 - k}" for k in range(3)]
    short = page.evaluate("names => shortNames(names, 20)", names)
    assert short == ["…0 of the sup…ier 10", "…1 of the supplier 9", "…2 of the supplier 8"]
    assert page.evaluate("shortNames(['tv', 'radio'], 20)") == ["tv", "radio"]
    alone = page.evaluate("name => shortNames([name], 20)", names[0])
    assert alone == ["ingredient nu…ier 10"]
    marks = page.evaluate("[1.5e12, 5e-13, 2e4, 0.5, 0].map(value => short(value, 0.5))")
    assert marks == ["1.5e+12", "5e\u221213", "20,000", "0.5", "0"]  # as plotly writes them


def check_resize(window: Window, path: str) -> None:
    """A window that becomes narrow: charts keep their height, and the words below their place."""
    page = window.page
    page.set_viewport_size({"width": WIDE, "height": 800})
    window.go(path)
    expect(page.locator("figure.chart:not([data-drawn])")).to_have_count(0, timeout=15_000)
    page.set_viewport_size({"width": NARROW, "height": 800})
    expect(page.locator("#chart-usage .colorbar")).to_have_count(0)  # drawn anew
    for figure in page.locator("figure.chart").all():
        drawing, words = (figure.locator(each).first for each in ("svg.main-svg", ".sentence"))
        above, below = drawing.bounding_box(), words.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"] + 1
        assert above["width"] <= NARROW


def thread_seconds(ticks: CDPSession) -> float:
    """Processor time of the page's thread so far."""
    metrics = ticks.send("Performance.getMetrics")["metrics"]
    return sum(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


def server_seconds(server: Server) -> float:
    """Processor time so far, of the server and of the process that computes its pages."""
    pids = [server.pid, *workers(server)]
    return sum(spent(pid) for pid in pids) / os.sysconf("SC_CLK_TCK")


def check_page(window: Window, path: str, *widths: int) -> None:
    """Wide and light, narrow and dark: nothing sticks out, and axe finds nothing serious."""
    page = window.page
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="light" if width == WIDE else "dark")
        window.go(path)
        waiting = page.locator("figure.chart:not([data-drawn])")
        expect(waiting).to_have_count(0, timeout=15_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        found = AXE.Axe().run(page).response["violations"]
        serious = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
        assert serious == [], (path, width, [v["nodes"][0]["html"] for v in found])
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
