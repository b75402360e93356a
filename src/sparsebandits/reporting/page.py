"""One self-contained HTML page: no script, no network, readable on paper."""

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

_STYLE = """
:root { --ink: #1c1e21; --soft: #5b6168; --line: #d9dde1; --paper: #ffffff; --band: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.2rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
p { max-width: 46rem; }
code { font-size: .88em; background: var(--band); padding: .1em .3em; border-radius: 3px;
  overflow-wrap: anywhere; }
nav a { display: inline-block; margin: 0 .8rem .3rem 0; }
a { color: #00568a; }
figure { margin: 1rem 0 1.6rem; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .6rem;
  border-bottom: 1px solid var(--line); }
th { background: var(--band); position: sticky; top: 0; }
td:first-child { white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds::before { content: "\\2713  "; color: #00694e; }
.changed::before { content: "\\25B3  "; color: #8a5a00; }
.fails::before { content: "\\2715  "; color: #a63c00; }
.open::before { content: "?  "; color: var(--soft); }
.scroll { overflow-x: auto; }
.counts { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; }
.quick { border-left: 4px solid #D55E00; padding: .4rem .8rem; background: var(--band); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .92rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--soft); padding-bottom: 3rem; }
@media (max-width: 46rem) {
  td, th { display: block; border: 0; padding: .15rem 0; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  figure svg { max-width: none; width: auto; height: 19rem; }
  thead { display: none; } td:first-child, .verdict { white-space: normal; }
}
@media print { nav { display: none; } body { font-size: 11pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } th { position: static; } }
"""

_CLASSES = {
    "holds": "holds",
    "holds with the stated change": "changed",
    "fails": "fails",
    "not testable": "open",
}


def write_page(out: Path, summary: dict[str, Any], experiments: list[dict[str, Any]]) -> Path:
    """Write ``out/index.html`` with every figure inlined."""
    body = "\n".join(
        [
            _header(summary, experiments),
            "<main>",
            *(_section(out, experiment, summary) for experiment in experiments),
            _lemmas(summary),
            _colophon(summary),
            "</main>",
        ]
    )
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>Rerun: {html.escape(summary['paper'])}</title><style>{_STYLE}</style></head>"
        f"<body>\n{body}\n</body></html>\n"
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _header(summary: dict[str, Any], experiments: list[dict[str, Any]]) -> str:
    counts = Counter(claim["verdict"] for claim in summary["claims"])
    tally = "".join(
        f'<li><span class="verdict {_CLASSES[verdict]}">{verdict}</span> {counts[verdict]}</li>'
        for verdict in _CLASSES
    )
    links = "".join(
        f'<a href="#{item["id"]}">{html.escape(item["title"])}</a>' for item in experiments
    )
    if any(claim["experiment"] == "lemmas" for claim in summary["claims"]):
        links += '<a href="#lemmas">Lemmas and propositions</a>'
    quick = (
        '<p class="quick">Quick run: few trials, short horizons. It shows that everything works; '
        "its verdicts are not the paper's. Run <code>make reproduce</code> for those.</p>"
        if summary["quick"]
        else ""
    )
    return (
        f"<header><h1>{html.escape(summary['paper'])}: the rerun</h1>"
        "<p>A learner picks an action with at most H non-zero entries, sees a noisy reward, and "
        "must find out which few knobs to turn while it earns. This page reruns every figure of "
        "the paper at its own setting (20 knobs, at most 5 in use, noise 0.5) and puts every claim "
        "next to what was measured. <em>Literal</em> curves use the paper's constants; beside "
        "them stands what had to be changed for the effect to be seen.</p>"
        f'{quick}<ul class="counts">{tally}</ul><nav>{links}<a href="#colophon">How it was made</a>'
        "</nav></header>"
    )


def _section(out: Path, experiment: dict[str, Any], summary: dict[str, Any]) -> str:
    figures = "".join(_figure(out, figure) for figure in experiment["figures"])
    claims = [c for c in summary["claims"] if c["experiment"] == experiment["id"]]
    decisions = "".join(f"<li>{html.escape(text)}</li>" for text in experiment["decisions"])
    decided = f"<p>What had to be decided:</p><ul>{decisions}</ul>" if decisions else ""
    return (
        f'<section id="{experiment["id"]}"><h2>{html.escape(experiment["title"])}</h2>'
        f"<p>{html.escape(experiment['about'])}</p>{figures}{decided}{_table(claims)}</section>"
    )


def _figure(out: Path, figure: dict[str, Any]) -> str:
    drawn = (out / "figures" / f"{figure['id']}.svg").read_text(encoding="utf-8")
    # Inline, without the XML prolog; ids are made unique, because figures share one page.
    inner = drawn[drawn.index("<svg") :]
    prefix = figure["id"].replace(".", "-")
    inner = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', inner)
    inner = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', inner)
    inner = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", inner)
    title = html.escape(figure["title"])
    inner = inner.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    files = (
        f'<a href="figures/{figure["id"]}.svg">SVG</a>, <a href="figures/{figure["id"]}.png">PNG'
        f'</a>, <a href="curves/{figure["id"]}.csv">CSV</a>'
    )
    label = html.escape(figure["label"])
    return (
        f'<figure><div class="scroll">{inner}</div><figcaption>'
        f"{title}. In the paper: <code>{label}</code>. {files}."
        "</figcaption></figure>"
    )


def _table(claims: list[dict[str, Any]]) -> str:
    if not claims:
        return ""
    rows = "".join(
        "<tr>"
        f'<td><span class="verdict {_CLASSES[c["verdict"]]}">{c["verdict"]}</span></td>'
        f"<td>{html.escape(c['statement'])} <code>{html.escape(c['label'])}</code></td>"
        f"<td>{html.escape(c['measured'])}{_change(c)}</td></tr>"
        for c in claims
    )
    return (
        '<div class="scroll"><table><thead><tr><th>verdict</th><th>the paper says</th>'
        f"<th>measured</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _change(claim: dict[str, Any]) -> str:
    return f" <em>Change: {html.escape(claim['change'])}.</em>" if claim["change"] else ""


def _lemmas(summary: dict[str, Any]) -> str:
    claims = [claim for claim in summary["claims"] if claim["experiment"] == "lemmas"]
    if not claims:
        return ""
    return (
        '<section id="lemmas"><h2>Lemmas and propositions</h2><p>Each statement tested on random '
        "instances, with intervals at 95%. Where one fails, an instance is in "
        f"<code>summary.json</code>.</p>{_table(claims)}</section>"
    )


def _colophon(summary: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in summary["packages"].items())
    rows = {
        "sparsebandits": summary["version"],
        "packages": packages,
        "Python": summary["python"],
        "machine": summary["machine"],
        "written": summary["written"],
        "seed": summary["seed"],
        "workers": summary["workers"],
        "time": f"{summary['seconds']} s, without what was taken from an earlier run",
    }
    items = "".join(
        f"<dt>{name}</dt><dd>{html.escape(str(value))}</dd>" for name, value in rows.items()
    )
    return (
        f'<section id="colophon"><h2>How it was made</h2><dl>{items}</dl><p>The claims with their '
        'numbers are in <a href="summary.json">summary.json</a>; what was decided where the paper '
        "is silent or wrong is in <code>docs/paper-notes.md</code>.</p></section>"
    )
