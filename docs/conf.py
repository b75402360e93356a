"""How Sphinx builds the site: `make docs`, and then open docs/_build/html/index.html."""

import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.roles import XRefRole

import sparsebandits as sb

project = "sparsebandits"
author = "the sparsebandits developers"
version = release = sb.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
templates_path = ["_templates"]
nitpicky = True
suppress_warnings = ["config.cache"]  # the order of the gallery is a function

# Pages in Markdown: links to headings, boxes.
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3

# Docstrings state types in words, so signatures need not repeat them.
autosummary_generate = True
autosummary_filename_map = {"sparsebandits.Plan": "sparsebandits.Plan-record"}  # not plan
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "sparsebandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_search_summary = False  # a page opened as a file may not fetch the others
html_context = {"default_mode": "auto"}
html_copy_source = False
html_sidebars = {"install": [], "tour": [], "contributing": [], "changelog": []}
html_theme_options = {
    "logo": {"text": "sparsebandits"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": True,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "2026, the sparsebandits developers. BSD 3-Clause licence"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "min_reported_time": 1_000_000,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "first_notebook_cell": None,
}

_NAME = re.compile(r"(?:sb\.|sparsebandits\.)?([A-Za-z]\w*)((?:\.\w+)*)(\(.*\))?")
"""A public name in a docstring, perhaps with what is of it: `Learner.tell`, `sb.plan(...)`."""


def name_or_code(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, *more: Any, **options: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Link what single backticks name, if it is a public name or a page; else show it as code.

    Docstrings here use them for names, files and the labels of the paper alike.
    """
    page = re.fullmatch(r"docs/([\w-]+)\.md", text)
    if page is not None:
        role = XRefRole(innernodeclass=nodes.inline, warn_dangling=True)
        return role("std:doc", rawtext, f"{text} </{page[1]}>", lineno, inliner, *more, **options)
    found = _NAME.fullmatch(text)
    if found is not None and found[1] in sb.__all__ and _has(found[1], found[2]):
        target = f"sparsebandits.{found[1]}{found[2]}"
        role = XRefRole()
        shown = f"{text} <{target}>"
        return role("py:obj", rawtext, shown, lineno, inliner, *more, **options)
    return [nodes.literal(rawtext, text)], []


def _has(name: str, path: str) -> bool:
    part: object = getattr(sb, name)
    for step in path.split(".")[1:]:
        if step.startswith("_") or not callable(getattr(part, step, None)):
            return False
        part = getattr(part, step)
    return True


def setup(app: Sphinx) -> None:
    """Register the role of single backticks."""
    register: Callable[..., None] = app.add_role
    register("name-or-code", name_or_code)


default_role = "name-or-code"
