"""The pages of one learner, as functions from a visit to an answer."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fastapi import Response

from sparsebandits.dashboard import what_if
from sparsebandits.dashboard.access import Visit
from sparsebandits.dashboard.certainty import in_words, why_no_choice
from sparsebandits.dashboard.charts import Chart
from sparsebandits.dashboard.coordinates import SORTS, estimate_chart, sorted_rows, usage_chart
from sparsebandits.dashboard.decisions import (
    FILTERS,
    Table,
    Wanted,
    matching,
    table_of,
    to_csv,
    to_parquet,
)
from sparsebandits.dashboard.facts import Facts, facts_of
from sparsebandits.dashboard.health import Finding, findings, level_of_alarm
from sparsebandits.dashboard.loss import loss_chart
from sparsebandits.dashboard.residual_charts import quantile_chart, residual_chart
from sparsebandits.dashboard.rewards import reward_chart
from sparsebandits.dashboard.sample import sample_of
from sparsebandits.dashboard.sources import Source, View
from sparsebandits.dashboard.words import number
from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies.summary import Row
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.auth import Caller

_DRAWS = 200
_LONGEST_TABLE = 50
_KEPT, _SENT = 32, 4
"""Pages that are kept as computed, those looked at last; and how many people's copies of each."""

_REST, _LONGEST_REST = 10.0, 10.0
"""Whoever plays has right of way: a page that is open is computed again after so many times as
long as it took, and after so many seconds at the latest."""

_LONG_NAME = 28
_CHECKBOXES = 60
"""Coordinates up to which each has a box to tick; beyond, they are named in a field."""

_CHANGES = ("sparsity", "budget", "off", "off_more")
"""Fields of the form that ask for something else; a context is what both answers are for."""

_WRITERS = {
    "csv": (to_csv, "text/csv"),
    "parquet": (to_parquet, "application/vnd.apache.parquet"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnerPage:
    """What the page of a learner shows."""

    facts: Facts
    charts: tuple[Chart, ...]
    estimates: Chart | None
    certainty: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int
    untried: int
    """Coordinates of which nothing is known but what the policy started from."""
    known_beside: str
    """The baseline and the noise level, where they are known."""
    has_long_names: bool
    """Whether names need the width of the page for their table."""
    has_draws: bool
    """Whether coordinates have a probability of being in the best support."""


def learner_page(view: View, by_time: bool, sort: str, everything: bool) -> LearnerPage:
    """Compute the page of a learner."""
    learner, history, facts = view.learner, view.history, facts_of(view)
    summary = learner.summary(_DRAWS)
    certificate = learner.certificate(draws=_DRAWS)
    charts = (
        reward_chart(history, by_time),
        loss_chart(learner, history, by_time),
        usage_chart(learner, history, by_time),
    )
    rows = sorted_rows(summary, sort)
    level = "" if math.isnan(summary.sigma) else f"noise {number(summary.sigma)}"
    shown = rows if everything else rows[:_LONGEST_TABLE]
    return LearnerPage(
        facts=facts,
        charts=tuple(chart for chart in charts if chart is not None),
        estimates=estimate_chart(summary) if facts.rewards else None,
        certainty=tuple(in_words(learner, certificate, facts.rewards)),
        rows=tuple(shown),
        left_out=len(rows) - len(shown),
        untried=learner.policy.action_set.dim - len(rows),
        known_beside=", ".join(part for part in (summary.note, level) if part),
        has_long_names=any(len(row.name) > _LONG_NAME for row in shown),
        has_draws=bool(np.isfinite(summary.inclusion).any()),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class HealthPage:
    """What the page on the health of the model shows."""

    facts: Facts
    charts: tuple[Chart, ...]
    findings: tuple[Finding, ...]
    looked_at: int
    level: str


def health_page(view: View, by_time: bool) -> HealthPage:
    """Compute the page on the health of the model."""
    sample = sample_of(view.learner.policy, view.history)
    charts = (residual_chart(view.history, sample, by_time), quantile_chart(sample))
    return HealthPage(
        facts=facts_of(view),
        charts=tuple(chart for chart in charts if chart is not None),
        findings=tuple(findings(sample)),
        looked_at=sample.rewards.size,
        level=level_of_alarm(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Kept:
    """A page as it was computed, for all who look at it, and as some of them have got it."""

    version: str
    page: Any
    until: float
    """Until then whoever has it open gets nothing newer."""
    sent: dict[tuple[str, Caller], Response] = field(default_factory=dict)


class LearnerPages:
    """The pages of one learner, on whatever source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._thinking = asyncio.Semaphore(1)
        self._computing = asyncio.Lock()
        self._kept: OrderedDict[tuple[str, str, str], _Kept] = OrderedDict()

    async def _live(
        self, visit: Visit, template: str, compute: Callable[[View], Any], **more: Any
    ) -> Response:
        """Answer with a page that is sent anew only when the learner has changed."""
        wanted = (visit.key, template, visit.request.url.query)
        kept = self._kept.get(wanted)
        if kept is None or not visit.is_live or time.monotonic() >= kept.until:
            kept = await self._current(wanted, compute)
        etag = f"{kept.version}-{visit.session.caller.scope}"
        if visit.is_current(etag):
            return Response(status_code=304, headers={"etag": f'"{etag}"'})
        if visit.says_something:
            return visit.page(template, etag=etag, page=kept.page, **more)
        reader = (visit.session.csrf, visit.session.caller)
        if reader not in kept.sent:
            if len(kept.sent) == _SENT:
                del kept.sent[next(iter(kept.sent))]
            kept.sent[reader] = visit.page(template, etag=etag, page=kept.page, **more)
        return kept.sent[reader]

    async def _current(self, wanted: tuple[str, str, str], compute: Callable[[View], Any]) -> _Kept:
        """Return the page of the learner as it is now, computed if it has changed."""
        async with self._computing:  # those who wait find what the first has computed
            version, kept = await self._source.version(wanted[0]), self._kept.get(wanted)
            if kept is None or kept.version != version:
                started = time.monotonic()
                page = await self._source.look(wanted[0], compute)
                ended = time.monotonic()
                rest = min(_REST * (ended - started), _LONGEST_REST)
                kept = self._kept[wanted] = _Kept(version=version, page=page, until=ended + rest)
            self._kept.move_to_end(wanted)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return kept

    async def show(self, visit: Visit) -> Response:
        """Show what a learner earns, believes and is sure of."""
        by_time, sort = visit.query("by") == "time", visit.query("sort", SORTS[0])
        everything = visit.query("rows") == "all"
        return await self._live(
            visit,
            "learner.html",
            lambda view: learner_page(view, by_time, sort, everything),
            by_time=by_time,
            sort=sort,
            everything=everything,
        )

    async def health(self, visit: Visit) -> Response:
        """Show whether the model fits."""
        by_time = visit.query("by") == "time"
        return await self._live(
            visit, "health.html", lambda view: health_page(view, by_time), by_time=by_time
        )

    # ------------------------------------------------------------------ decisions

    async def decisions(self, visit: Visit) -> Response:
        """Show the decisions that are wanted."""
        wanted = _wanted(visit)

        def compute(view: View) -> tuple[Facts, Table]:
            names = view.learner.policy.action_set.names
            return facts_of(view), table_of(view.history, wanted, names)

        return await self._live(
            visit, "decisions.html", compute, wanted=wanted, filters=tuple(FILTERS)
        )

    async def download(self, visit: Visit) -> Response:
        """Send the decisions that are wanted as a file."""
        wanted, kind = _wanted(visit), visit.request.path_params["kind"]
        if kind not in _WRITERS:
            raise RefusedError("unknown-path", "Decisions come as csv and as parquet.")
        write, content_type = _WRITERS[kind]

        def compute(view: View) -> bytes:
            names = view.learner.policy.action_set.names
            return write(view.history, matching(view.history, wanted, names), names)

        content = await self._source.look(visit.key, compute)
        name = f"{visit.key}-{wanted.state}.{kind}"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=content_type, headers=headers)

    # ------------------------------------------------------------------ what if

    async def what_if(self, visit: Visit) -> Response:
        """Show the best action under other conditions, beside today's."""
        view = await self._source.look(visit.key, lambda view: view)
        action_set = view.learner.policy.action_set
        given = dict(visit.request.query_params)
        off = visit.request.query_params.getlist("off")
        problem, comparison = "", None

        def think() -> what_if.Comparison | None:
            question = what_if.read_question(given, off, action_set)
            return what_if.compare(view.learner, question)

        async with self._thinking:
            try:
                comparison = await asyncio.to_thread(think)
            except SparseBanditsError as error:
                problem = str(error)
        facts = facts_of(view)
        names = action_set.names or tuple(map(str, range(min(action_set.dim, _CHECKBOXES))))
        return visit.page(
            "what_if.html",
            page=facts,
            status=422 if problem else 200,
            problem=problem,
            comparison=comparison,
            why_none=why_no_choice(view.learner, facts.rewards),
            words="" if comparison is None else what_if.in_words(comparison),
            is_asked=any(given.get(name, "").strip() for name in _CHANGES),
            given=given,
            off=off,
            budget=what_if.budget_of(action_set),
            names=names if action_set.dim <= _CHECKBOXES else (),
        )


def _wanted(visit: Visit) -> Wanted:
    page = visit.query("page", "1")
    return Wanted(
        state=visit.query("state", "all"),
        phase=visit.query("phase"),
        coordinate=visit.query("coordinate"),
        page=int(page) if page.isascii() and page.isdigit() and len(page) < 8 else 1,
    )
