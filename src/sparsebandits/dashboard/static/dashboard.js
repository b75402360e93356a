// Draws the charts, keeps pages up to date, copies lines. Nothing here is needed to read a page.
"use strict";

const POLL = 2000; // milliseconds between two looks for news

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function translucent(hex, share) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${share})`;
}

// ------------------------------------------------------------------ charts

function dress(trace, roles, spots) {
  const role = roles[trace.meta];
  if (trace.type === "heatmap") {
    trace.colorscale = [[0, colour("map-low")], [1, colour("accent")]];
    Object.assign(trace.colorbar, { outlinewidth: 0, tickfont: { color: colour("soft") } });
  } else if (trace.fill) {
    trace.fillcolor = translucent(role, 0.18);
  } else if (trace.mode === "lines") {
    trace.line = { width: 2, ...trace.line, color: role };
  } else {
    const few = trace.x.length < 50;
    const opacity = trace.meta !== "quiet" ? 1 : few ? 0.8 : 0.45;
    trace.marker = { color: role, size: trace.error_x || spots ? 8 : few ? 7 : 4, opacity };
    if (trace.error_x) Object.assign(trace.error_x, { color: role, thickness: 1.5 });
  }
}

// Long names lose the words that all of them begin with, then their middles.
function shortNames(names, most) {
  if (names.every((name) => name.length <= most)) return names;
  let same = names[0].length;
  for (const name of names) while (!name.startsWith(names[0].slice(0, same))) same -= 1;
  const common = names.length > 1 ? names[0].slice(0, same).lastIndexOf(" ") + 1 : 0;
  const end = Math.floor(most / 3);
  return names.map((name) => {
    const own = common ? `…${name.slice(common)}` : name;
    return own.length <= most ? own : `${own.slice(0, most - end - 1)}…${own.slice(-end)}`;
  });
}

function nameRows(axis, names, width) {
  const most = Math.max(15, Math.min(48, Math.floor(width / 22)));
  Object.assign(axis, { tickmode: "array", tickvals: names, ticktext: shortNames(names, most) });
}

function chartOf(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const plot = figure.querySelector(".plot");
  const roles = { main: colour("accent"), second: colour("second"), quiet: colour("quiet") };
  const isList = spec.layout.yaxis.type === "category";
  spec.data.forEach((trace) => dress(trace, roles, isList));
  const ink = colour("soft"), line = colour("line");
  for (const axis of [spec.layout.xaxis, spec.layout.yaxis]) {
    Object.assign(axis, { gridcolor: line, zerolinecolor: colour("quiet"), linecolor: line });
    axis.title.standoff = 8;
    axis.title.font = { size: 12 };
  }
  const isNarrow = plot.clientWidth < 480;
  const legend = shortNames(spec.data.map((trace) => trace.name), Math.floor((plot.clientWidth - 70) / 7));
  spec.data.forEach((trace, place) => Object.assign(trace, { name: legend[place] }));
  if (isList) nameRows(spec.layout.yaxis, spec.data[0].y, plot.clientWidth);
  if (isNarrow && isList) {
    spec.layout.yaxis.title.text = "";
    spec.data[0].showscale = false; // the sentence says what colours mean
  }
  const layout = {
    ...spec.layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    margin: { l: 48, r: 12, t: 8, b: 44 },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: line, font: { color: colour("ink") } },
    // A finger that scrolls must not zoom.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
  };
  return { plot, data: spec.data, layout };
}

// Plotly reads tags in what it writes; a name is written as it is.
function untagged(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function namePlainly(data, axis) {
  for (const trace of data) trace.name = untagged(trace.name);
  if (axis.type !== "category") return;
  for (const trace of data) trace.y = trace.y.map(untagged);
  axis.tickvals = axis.tickvals.map(untagged);
  axis.ticktext = axis.ticktext.map(untagged);
}

function draw(figure) {
  const { plot, data, layout } = chartOf(figure);
  plot.style.height = `${layout.height}px`; // plotly takes its own away when the window changes
  plot.style.minHeight = 0; // that is kept for a chart only until its own is known
  const points = String(data.reduce((sum, trace) => sum + trace.x.length, 0));
  if (window.Plotly) {
    plot.querySelector(".sketch")?.remove();
    namePlainly(data, layout.yaxis);
    Plotly.react(plot, data, layout, { displayModeBar: false, responsive: true });
    figure.dataset.drawn = points;
  } else {
    sketch(plot, data, layout);
    fetchPlotly();
  }
  figure.dataset.sketched = points;
}

function drawAll() {
  document.querySelectorAll("figure.chart").forEach(draw);
}

let isFetched = false;

// Only when the sketches are on the screen; then one chart at a time, so that the page stays quick.
function fetchPlotly() {
  if (isFetched) return;
  isFetched = true;
  const script = document.createElement("script");
  script.src = document.getElementById("plotly").href;
  script.addEventListener("load", drawNext);
  requestAnimationFrame(() => setTimeout(() => {
    performance.mark("sketched"); // and on the screen
    document.head.append(script);
  }));
}

function drawNext() {
  const waiting = document.querySelector("figure.chart:not([data-drawn])");
  if (!waiting) {
    performance.mark("drawn");
    return;
  }
  draw(waiting);
  setTimeout(drawNext);
}

// ------------------------------------------------------------------ news

function renewCharts(mine, theirs) {
  const ids = (part) => [...part.querySelectorAll("figure.chart")].map((figure) => figure.id).join();
  if (ids(mine) !== ids(theirs)) {
    mine.innerHTML = theirs.innerHTML;
  } else {
    for (const figure of mine.querySelectorAll("figure.chart")) {
      const fresh = theirs.querySelector(`#${figure.id}`);
      for (const part of ["script", ".sentence"]) {
        figure.querySelector(part).textContent = fresh.querySelector(part).textContent;
      }
      const label = fresh.querySelector(".plot").getAttribute("aria-label");
      figure.querySelector(".plot").setAttribute("aria-label", label);
    }
  }
  mine.querySelectorAll("figure.chart").forEach(draw);
}

function renew(fresh) {
  for (const mine of document.querySelectorAll("[data-part]")) {
    const theirs = fresh.querySelector(`[data-part="${mine.dataset.part}"]`);
    // Whoever is writing into a form there is left alone.
    if (!theirs || mine.querySelector("input:focus, select:focus, button:focus")) continue;
    if (mine.classList.contains("charts")) renewCharts(mine, theirs);
    else if (mine.innerHTML !== theirs.innerHTML) mine.innerHTML = theirs.innerHTML;
  }
}

let known = null; // the page's ETag: the server answers 304 while nothing has changed

async function lookForNews() {
  if (document.hidden) return;
  const headers = { "X-Live": "1" };
  if (known) headers["If-None-Match"] = known;
  const answer = await fetch(location.href, { headers, cache: "no-store" });
  if (answer.status === 401) location.reload();
  if (answer.status !== 200) return;
  known = answer.headers.get("ETag");
  renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

async function keepLooking() {
  try {
    await lookForNews();
  } catch {
    // The server is away; it is tried again.
  }
  setTimeout(keepLooking, POLL);
}

// ------------------------------------------------------------------ forms

function showFieldsOfSet() {
  const set = document.getElementById("set");
  if (!set) return;
  const show = () =>
    document.querySelectorAll("[data-for]").forEach((part) => {
      part.hidden = !part.dataset.for.split(" ").includes(set.value);
    });
  set.addEventListener("change", show);
  show();
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source); // where the browser forbids it, it is one key away
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

// ------------------------------------------------------------------ from here on

function whenPrinting(isPrinting) {
  document.documentElement.toggleAttribute("data-print", isPrinting);
  drawAll();
}

let resting = 0;

// Names and scales fit the width: a window that has come to rest is drawn for anew.
addEventListener("resize", () => {
  clearTimeout(resting);
  resting = setTimeout(drawAll, 200);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("beforeprint", () => whenPrinting(true));
addEventListener("afterprint", () => whenPrinting(false));
showFieldsOfSet();
drawAll();
// A browser that is new takes more than a second to read plotly: it has the time where somebody types
// a token or reads the list, and the next page has it ready.
if (!document.querySelector("figure.chart")) (window.requestIdleCallback || setTimeout)(fetchPlotly);
const live = document.querySelector("main[data-live]");
if (live) {
  known = live.dataset.live ? `"${live.dataset.live}"` : null;
  setTimeout(keepLooking, POLL);
}
