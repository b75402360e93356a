"""Check a built site: every link inside it leads somewhere, nothing is loaded from elsewhere.

    python tools/check_site.py docs/_build/html

No network is used: links to other hosts are counted, not followed. Prints what is wrong and ends
with code 1, or says how much was looked at.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
"""What a page loads by itself, and by which attribute; `link` unless it is only a relation."""

RELATIONS = {"canonical", "prev", "next", "search", "index", "author", "copyright"}


class Page(HTMLParser):
    """The ids of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links to or loads."""
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        is_relation = tag == "link" and given.get("rel") in RELATIONS
        if LOADED.get(tag) in given:
            (self.links if is_relation else self.loads).append(given[LOADED[tag]])


def problems_of(site: Path, names: list[str]) -> tuple[list[str], int, int]:
    """Return what is wrong, and how many links inside and to other hosts there are.

    Parameters
    ----------
    site : Path
        The folder with the pages.
    names : list of str
        What the index of the search must know.
    """
    made = [path for path in site.rglob("*.html") if "_static" not in path.parts]  # not templates
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in made}
    wrong: list[str] = [] if pages else [f"{site} has no page; build the site first"]
    inside = outside = 0
    for path, page in pages.items():
        where = path.relative_to(site)
        wrong += [f"{where} loads {url}" for url in page.loads if is_elsewhere(url)]
        for url in [*page.links, *page.loads]:
            if is_elsewhere(url) or urlsplit(url).scheme in ("mailto", "data"):
                outside += 1
                continue
            inside += 1
            wrong += [f"{where} links to {url}: {why}" for why in broken(url, path, pages)]
    index = site / "searchindex.js"
    known = index.read_text(encoding="utf-8") if index.exists() else ""
    wrong += [f"the search does not know {name}" for name in names if f'"{name}"' not in known]
    return wrong, inside, outside


def is_elsewhere(url: str) -> bool:
    """Whether a URL names another host."""
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def broken(url: str, path: Path, pages: dict[Path, Page]) -> list[str]:
    """Say why a link inside the site leads nowhere, if it does."""
    parts = urlsplit(url)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return ["there is no such file"]
    page = pages.get(target)
    if parts.fragment and page is not None and unquote(parts.fragment) not in page.ids:
        return ["the page has no such place"]
    return []


def main() -> None:
    """Check the folder that is named on the command line."""
    import sparsebandits as sb

    site = Path(sys.argv[1]).resolve()
    names = [name for name in sb.__all__ if re.fullmatch(r"[A-Za-z]\w+", name)]
    wrong, inside, outside = problems_of(site, names)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{inside:,} links inside lead somewhere, {outside:,} go elsewhere and were not followed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
