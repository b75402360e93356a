"""The report as self-contained HTML pages: no script, no network, readable on paper."""

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sparsebandits.comparison.field import RECOMMENDED

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
.numbers .n { text-align: right; }
.numbers tr.main { font-weight: 600; }
details { margin: .8rem 0; } summary { cursor: pointer; color: #00568a; }
.notes { color: var(--soft); font-size: .88rem; }
.quick { border-left: 4px solid #D55E00; padding: .4rem .8rem; background: var(--band); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .92rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--soft); padding-bottom: 3rem; }
@media (max-width: 46rem) {
  td, th { display: block; border: 0; padding: .15rem 0; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  figure svg { max-width: none; width: auto; height: 19rem; }
  thead { display: none; } td:first-child, .verdict { white-space: normal; }
  .numbers thead { display: table-header-group; } .numbers tr { display: table-row; }
  .numbers td, .numbers th { display: table-cell; padding: .3rem .5rem; font-size: .8rem;
    white-space: nowrap; }
}
@media print { nav { display: none; } body { font-size: 11pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } th { position: static; } }
"""

FIELD = "field.html"
"""The page of what is not in the paper."""

_CLASSES = {
    "holds": "holds",
    "holds with the stated change": "changed",
    "fails": "fails",
    "not testable": "open",
}


def write_page(out: Path, summary: dict[str, Any], experiments: list[dict[str, Any]]) -> Path:
    """Write ``out/index.html``, and ``out/field.html`` if there is anything of our own.

    Every figure is inlined. The page of what is ours has the same look, and no part in the count of
    the paper's claims.
    """
    paper = [one for one in experiments if not one["ours"]]
    ours = [one for one in experiments if one["ours"]]
    body = [
        _header(summary, paper, ours),
        "<main>",
        *(_section(out, experiment, summary["claims"]) for experiment in paper),
        _lemmas(summary),
        _colophon(summary),
        "</main>",
    ]
    if ours:
        field = [
            _field_header(summary, ours),
            "<main>",
            *(_section(out, experiment, summary["ours"]) for experiment in ours),
            _colophon(summary),
            "</main>",
        ]
        title = f"The field: {summary['paper']}"
        (out / FIELD).write_text(_document(title, field), encoding="utf-8")
    path = out / "index.html"
    path.write_text(_document(f"Rerun: {summary['paper']}", body), encoding="utf-8")
    return path


def _document(title: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>\n{body}\n</body></html>\n"
    )


def _links(experiments: list[dict[str, Any]], page: str = "") -> str:
    return "".join(
        f'<a href="{page}#{item["id"]}">{html.escape(item["title"])}</a>' for item in experiments
    )


def _field_header(summary: dict[str, Any], experiments: list[dict[str, Any]]) -> str:
    held = sum(claim["verdict"] == "holds" for claim in summary["ours"])
    tally = (
        f"<p>In <strong>{held} of {len(summary['ours'])}</strong> settings where it is used the "
        "recommended policy stays within twice the best baseline's regret.</p>"
        if summary["ours"]
        else ""
    )
    return (
        "<header><h1>The field: baselines, and a policy worth running</h1>"
        "<p>Taken literally the paper's algorithm explores for ever at its own setting. This page "
        "is not the paper's: it puts the baselines of the field beside it, all on the same theta* "
        "and the same noise, and a policy that needs to be told neither the noise level nor the "
        f"horizon.</p>{_quick(summary)}{tally}<nav>{_links(experiments)}"
        '<a href="index.html">The rerun of the paper</a><a href="#colophon">How it was made</a>'
        "</nav></header>"
    )


def _quick(summary: dict[str, Any]) -> str:
    if not summary["quick"]:
        return ""
    return (
        '<p class="quick">Quick run: few trials, short horizons. It shows that everything works; '
        "its verdicts are not the paper's. Run <code>make reproduce</code> for those.</p>"
    )


def _header(
    summary: dict[str, Any], experiments: list[dict[str, Any]], ours: list[dict[str, Any]]
) -> str:
    counts = Counter(claim["verdict"] for claim in summary["claims"])
    tally = "".join(
        f'<li><span class="verdict {_CLASSES[verdict]}">{verdict}</span> {counts[verdict]}</li>'
        for verdict in _CLASSES
    )
    links = _links(experiments)
    if any(claim["experiment"] == "lemmas" for claim in summary["claims"]):
        links += '<a href="#lemmas">Lemmas and propositions</a>'
    links += _links(ours, FIELD)
    return (
        f"<header><h1>{html.escape(summary['paper'])}: the rerun</h1>"
        "<p>A learner picks an action with at most H non-zero entries, sees a noisy reward, and "
        "must find out which few knobs to turn while it earns. This page reruns every figure of "
        "the paper at its own setting (20 knobs, at most 5 in use, noise 0.5) and puts every claim "
        "next to what was measured. <em>Literal</em> curves use the paper's constants; beside "
        "them stands what had to be changed for the effect to be seen.</p>"
        f'{_quick(summary)}<ul class="counts">{tally}</ul><nav>{links}'
        '<a href="#colophon">How it was made</a></nav></header>'
    )


def _section(out: Path, experiment: dict[str, Any], claims: list[dict[str, Any]]) -> str:
    figures = "".join(_figure(out, figure) for figure in experiment["figures"])
    claims = [claim for claim in claims if claim["experiment"] == experiment["id"]]
    tables = [_numbers(table) for table in experiment["tables"]]
    decisions = "".join(f"<li>{html.escape(text)}</li>" for text in experiment["decisions"])
    decided = f"<p>What had to be decided:</p><ul>{decisions}</ul>" if decisions else ""
    return (
        f'<section id="{experiment["id"]}"><h2>{html.escape(experiment["title"])}</h2>'
        f"<p>{html.escape(experiment['about'])}</p>{''.join(tables[:1])}{figures}"
        f"{''.join(tables[1:])}{decided}{_table(claims, ours=experiment['ours'])}</section>"
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
    source = "Not in the paper" if label == "ours" else f"In the paper: <code>{label}</code>"
    return (
        f'<figure><div class="scroll">{inner}</div><figcaption>'
        f"{title}. {source}. {files}."
        "</figcaption></figure>"
    )


def _numbers(table: dict[str, Any]) -> str:
    """Lay out a table of numbers; a folded one opens on a click."""
    heads = _cells(table["headings"], "th", table["words"])
    rows = "".join(
        f"<tr{_mark(row)}>{_cells(row, 'td', table['words'])}</tr>" for row in table["rows"]
    )
    notes = "<br>".join(html.escape(text) for text in table["notes"])
    title = html.escape(table["title"])
    body = (
        f'<div class="scroll"><table class="numbers"><thead><tr>{heads}</tr></thead>'
        f'<tbody>{rows}</tbody></table></div><p class="notes">{notes}</p>'
    )
    if table["folded"]:
        return f"<details><summary>{title}</summary>{body}</details>"
    return f"<h3>{title}</h3>{body}"


def _mark(row: list[str]) -> str:
    return ' class="main"' if row[0] == RECOMMENDED else ""


def _cells(texts: list[str], tag: str, words: int) -> str:
    kinds = [tag if place < words else f'{tag} class="n"' for place in range(len(texts))]
    pairs = zip(kinds, texts, strict=True)
    return "".join(f"<{kind}>{html.escape(text)}</{tag}>" for kind, text in pairs)


def _table(claims: list[dict[str, Any]], *, ours: bool = False) -> str:
    if not claims:
        return ""
    source = "we say" if ours else "the paper says"
    rows = "".join(
        "<tr>"
        f'<td><span class="verdict {_CLASSES[c["verdict"]]}">{c["verdict"]}</span></td>'
        f"<td>{html.escape(c['statement'])} <code>{html.escape(c['label'])}</code></td>"
        f"<td>{html.escape(c['measured'])}{_change(c)}</td></tr>"
        for c in claims
    )
    return (
        '<div class="scroll"><table><thead><tr><th>verdict</th>'
        f"<th>{source}</th><th>measured</th></tr></thead><tbody>{rows}</tbody></table></div>"
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
