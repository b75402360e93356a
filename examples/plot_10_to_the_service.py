"""
From notebook to service to dashboard
=====================================

A learner is tried in a notebook, then moved to a server that many processes ask and tell. The
server is killed in the middle, as machines are, and nothing is lost: a request that was answered
with 2xx survives kill -9 and power loss, and is counted once, however often it is sent.
"""

import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb

AT_HOME = 150  # quick: 20
SERVED = 450  # quick: 15

# %%
# In the notebook
# ---------------
# Ten headlines' worth of space, 15 topics, at most four.

topics = ["art", "books", "chess", "cities", "cooking", "cycling", "film", "gardens", "health",
          "history", "jazz", "maps", "oceans", "space", "trains"]  # fmt: skip
rng = np.random.default_rng(4)
taste = rng.uniform(-0.5, 0.5, size=15)  # your readers, instead of this line


def clicks(action):
    """Show it; return what came back."""
    return 1.0 + taste @ action + 0.2 * rng.standard_normal()


page = sb.Box(np.zeros(15), np.ones(15), names=topics)
learner = sb.SparseThompson(action_set=page, sparsity=4).start(seed=0)
earned = []
for _ in range(AT_HOME):
    decision = learner.ask()
    learner.tell(decision, clicks(decision.action))
    earned.append(taste @ decision.action)

# %%
# To the server
# -------------
# ``sparsebandits serve`` keeps everything in one SQLite file and prints a token on its first
# start.

folder = Path(tempfile.mkdtemp())
store = f"sqlite:///{folder / 'learners.db'}"


def serve(port=0):
    """Start a server; return its process and what it prints."""
    command = [Path(sys.executable).parent / "sparsebandits", "serve", "--quiet"]
    command += ["--store", store, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    greeting = ""
    for line in process.stdout:
        greeting += line
        if line.startswith("Try:"):
            break
    return process, greeting


server, greeting = serve()
url = re.search(r"http://[\d.]+:\d+", greeting)[0]
token = re.search(r"only this once: (\S+)", greeting)[1]
client = sb.Client(url, token)
remote = client.learner("front-page")
remote.import_from(learner)
print(remote.info())

# %%
# Ask and tell as before, over HTTP. After a third of the visits the server is killed, without
# warning and while a decision is open; it is started again on the same port, and the reward comes
# late.

killed = len(earned) + SERVED // 3
while len(earned) < AT_HOME + SERVED:
    decision = remote.ask()
    if len(earned) == killed:
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()
        server, _ = serve(port=int(url.rpartition(":")[2]))
    reward = clicks(decision.action)
    remote.tell(decision, reward)
    remote.tell(decision, reward)  # sent twice, counted once
    earned.append(taste @ decision.action)

# %%
# On the dashboard
# ----------------
# The server's address, in a browser, is the dashboard, which shows the learner while it learns
# (:doc:`/dashboard`). Here Playwright drives the Chromium of this machine: it logs in with the
# token and takes a picture.


def photograph():
    """Return the learner's page as a PNG; None where there is no browser to open it in."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 1000, "height": 1240})
        window.goto(f"{url}/login?next=/learners/front-page")
        window.fill("#token", token)
        window.press("#token", "Enter")
        window.wait_for_selector("#chart-estimates[data-drawn]")
        picture = window.screenshot()
        browser.close()
    return picture


with ThreadPoolExecutor(1) as beside:  # a notebook's event loop would be in Playwright's way
    picture = beside.submit(photograph).result()
if picture is None:
    print("No Chromium with Playwright here: open", url, "in a browser of yours.")
else:
    figure = plt.figure(figsize=(10, 12.4), dpi=100)  # a point of the screen is one of the picture
    axis = figure.add_axes((0, 0, 1, 1))
    axis.imshow(plt.imread(io.BytesIO(picture)))
    axis.set_axis_off()
    plt.show()

# %%
# Home again: the learner itself, bit for bit.

back = remote.export()
print(back)
print(back.summary())
client.close()
server.terminate()  # it finishes what it has accepted, then ends
ended = server.wait()
server.stdout.close()

# %%
best = sb.sparse_argmax(page, taste, sparsity=4).value
window = 15
figure, axis = plt.subplots(figsize=(9, 3.8), layout="constrained")
axis.plot(
    np.arange(window - 1, len(earned)), np.convolve(earned, np.ones(window) / window, "valid")
)
axis.axhline(best, color="black", linewidth=1, label="the best page")
axis.axvline(AT_HOME, color="tab:green", label="moved to the server")
axis.axvline(killed, color="tab:red", label="kill -9")
axis.set(xlabel="visit", ylabel=f"worth of the page, mean of {window}")
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Without a server, ``sparsebandits dashboard FILE`` shows a saved learner on the same pages. The
# calls, the tokens and how to deploy it are in :doc:`/service`.
