"""Take the dashboard's pictures for docs/dashboard.md: a service, two learners, and Chromium.

    python tools/picture_dashboard.py docs/images

One learner finds two of twelve channels within a budget; the rewards of the other drift.
"""

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import sparsebandits as sb

CHANNELS = ["tv", "radio", "print", "search", "social", "mail", "posters", "cinema", "podcasts",
            "affiliates", "events", "partners"]  # fmt: skip
EFFECTS = np.array([0.2, 1.0, 0.1, 0.8, 0.5, -0.1, 0.2, 0.2, 0.4, 0.0, 0.1, -0.2])
STEPS = 1200
PICTURES = {
    "dashboard-learner.png": ("/learners/spring-campaign", 1300),
    "dashboard-health.png": ("/learners/last-years-campaign/health", 1180),
}
SERVE = "from sparsebandits_command import main; main()"


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, str]]:
    """Serve; yield address and token."""
    arguments = ["serve", "--port", "0", "--quiet", "--store", f"sqlite:///{folder}/store.db"]
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        greeting = "".join(process.stdout.readline() for _ in range(2))
        yield re.findall(r"http://\S+", greeting)[0], greeting.split()[-1]
        process.terminate()


def play(client: sb.Client, key: str, drift: float) -> None:
    """Let a learner live; its rewards change by `drift` in all."""
    mix = sb.Budget(total=2.0, upper=[1.0] * len(CHANNELS), names=CHANNELS)
    learner, rng = client.learner(key), np.random.default_rng(7)
    learner.create(sb.SparseThompson(action_set=mix, sparsity=3))
    for step in range(STEPS):
        decision = learner.ask()
        worth = 1.2 + drift * step / STEPS + EFFECTS @ decision.action
        learner.tell(decision, float(worth + 0.4 * rng.standard_normal()))


def photograph(url: str, token: str, folder: Path) -> None:
    """Log in, and take each picture when all of its charts are drawn."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(color_scheme="light")
        page.goto(f"{url}/login")
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("table")
        for name, (path, height) in PICTURES.items():
            page.set_viewport_size({"width": 1100, "height": height})
            page.goto(url + path)
            page.wait_for_selector("figure.chart:not([data-drawn])", state="detached")
            picture = Image.open(io.BytesIO(page.screenshot()))
            picture.quantize(128).save(folder / name, optimize=True)  # a third of the bytes
        browser.close()


def main() -> None:
    """Play, look, keep the pictures."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as store, serving(store) as (url, token):
        with sb.Client(url, token) as client:
            play(client, "spring-campaign", 0.0)
            play(client, "last-years-campaign", 1.0)
        photograph(url, token, folder)


if __name__ == "__main__":
    main()
