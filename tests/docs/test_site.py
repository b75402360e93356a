"""The pages of the site: an example of every public name, links that lead somewhere."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import sparsebandits as sb
from tests.docs.pages import NAMES, PAGES, ROOT

DOCS = ROOT / "docs"
problems_of = runpy.run_path(str(ROOT / "tools" / "check_site.py"))["problems_of"]
_LINK = re.compile(r"\]\(([^)\s]+)\)|\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")
_HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


def test_every_public_name_is_on_the_api_page_once_and_has_an_example() -> None:
    listed = re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(set(sb.__all__) - {"__version__"})
    for name in listed:
        text = inspect.cleandoc(getattr(sb, name).__doc__)
        assert "\nExamples\n--------\n" in text, name


def anchors(text: str) -> set[str]:
    """Return the places of a page, as MyST makes them of its headings."""
    words = [re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(text)]
    return {title.strip().replace(" ", "-") for title in words}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """What Sphinx makes is looked for where it is made from."""
    for link, document in _LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"https?:", link):
            continue
        name, _, place = (link or f"{document}.md").partition("#")
        if name.startswith("generated/"):
            assert name.removeprefix("generated/sparsebandits.").split(".")[0] in sb.__all__
        elif name.startswith("gallery/images/"):
            program = re.sub(r"gallery/images/sphx_glr_(\w+)_\d+\.png", r"\1.py", name)
            assert (ROOT / "examples" / program).exists(), link
        elif name.startswith("gallery/") and name != "gallery/index.md":
            assert (ROOT / "examples" / f"{Path(name).stem}.py").exists(), link
        elif name != "gallery/index.md":
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not place or place in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_is_reached_from_the_first() -> None:
    trees = re.compile(r"```\{toctree\}\n(?::\w+:[^\n]*\n)*(.*?)```", flags=re.DOTALL)
    reached, new = set(), {"index"}
    while new:
        name = new.pop()
        reached.add(name)
        text = (DOCS / f"{name}.md").read_text() if (DOCS / f"{name}.md").exists() else ""
        entries = [line for tree in trees.findall(text) for line in tree.splitlines() if line]
        new |= {re.sub(r".*<(.*)>", r"\1", entry) for entry in entries} - reached
    assert {page.stem for page in DOCS.glob("*.md")} <= reached


def test_the_readme_is_short_and_says_what_the_rerun_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    [counts] = re.findall(r"judges \d+ claims.*?not testable here", " ".join(text.split()))
    assert counts in (DOCS / "rerun.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    assert f"version: {sb.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_checker_of_the_site_finds_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "searchindex.js").write_text('Search.setIndex({"titles": ["Box"]})')
    good = '<h1 id="top">a</h1><a href="b.html#top">b</a><a href="#top"></a><img src="a.png">'
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text(good)
    (tmp_path / "a.png").touch()
    assert problems_of(tmp_path, ["Box"]) == ([], 6, 0)
    (tmp_path / "c.html").write_text(
        '<a href="b.html#nowhere"></a><a href="d.html"></a><a href="https://example.org/"></a>'
        '<script src="https://example.org/x.js"></script><img src="gone.png">'
    )
    wrong, inside, outside = problems_of(tmp_path, ["Box", "Budget"])
    assert (len(wrong), inside, outside) == (5, 9, 2)
    for part in ("loads https://", "#nowhere", "d.html", "gone.png", "does not know Budget"):
        assert sum(part in line for line in wrong) == 1
