"""The browser that tests open pages in."""

import os
import shutil

import pytest


def find_chromium() -> str:
    """Return the browser; without one its tests are skipped, but fail in CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing = "no Chromium: pages are not opened; `make browser` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return path
