// Draws a chart plainly and at once, from what plotly will be given: a browser that is new takes
// more than a second to read plotly, and nobody should have to wait for that to see a curve.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function add(parent, name, attributes, text) {
  const part = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  if (text !== undefined) part.textContent = text;
  parent.append(part);
  return part;
}

// ------------------------------------------------------------------ axes

const STEPS = [1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];

function niceStep(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * ([1, 2, 5].find((each) => each * power >= span / count) || 10);
}

function short(value, step) {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en").replace("-", "−");
  if (Math.abs(value) >= 1e9 || (value && Math.abs(value) < 1e-6)) {
    return Number(value.toPrecision(3)).toExponential().replace("-", "−");
  }
  if (Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-3)) {
    return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
  }
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "−");
}

function clock(value, step) {
  const text = new Date(value).toISOString();
  return step >= 864e5 ? text.slice(0, 10) : text.slice(11, step >= 6e4 ? 16 : 19);
}

// What numbers, times and logarithms have in common: a place on a line, and marks along it.
class Scale {
  constructor(axis, values, from, to, count, share = 0.04) {
    this.type = axis.type;
    this.least = axis.tickformat ? 1 : 0; // whole numbers have no halves between them
    const places = values.map((value) => this.number(value)).filter(Number.isFinite);
    if (axis.rangemode === "tozero") places.push(0);
    let low = places.reduce((a, b) => Math.min(a, b), Infinity);
    let high = places.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(high >= low)) [low, high] = [0, 1];
    const room = high > low ? share * (high - low) : Math.abs(low) / 2 || 1;
    this.low = low - (axis.rangemode === "tozero" && low === 0 ? 0 : room);
    this.high = high + room;
    [this.from, this.to, this.count] = [from, to, count];
  }

  number(value) {
    if (value === null) return NaN;
    if (this.type === "date") return Date.parse(`${value.replace(" ", "T")}Z`);
    return this.type === "log" ? Math.log10(value) : value;
  }

  place(number) {
    return this.from + ((number - this.low) / (this.high - this.low)) * (this.to - this.from);
  }

  at(value) {
    return this.place(this.number(value));
  }

  ticks() {
    const span = this.high - this.low;
    let step = Math.max(niceStep(span, this.count), this.least), words = short;
    if (this.type === "date") {
      step = 1000 * (STEPS.find((each) => 1000 * each >= span / this.count) || STEPS.at(-1));
      words = clock;
    } else if (this.type === "log") {
      step = Math.max(1, step);
      words = (value) => short(10 ** value, 10 ** Math.min(0, value));
    }
    const found = [];
    for (let value = Math.ceil(this.low / step) * step; value <= this.high; value += step) {
      found.push([this.place(value), words(Math.abs(value) < step / 1e6 ? 0 : value, step)]);
    }
    return found;
  }
}

// One row for each name, the first on top.
class Rows {
  constructor(names, labels, top, bottom) {
    [this.names, this.labels] = [names, labels];
    [this.top, this.height] = [top, (bottom - top) / names.length];
  }

  at(name) {
    return this.top + (this.names.indexOf(name) + 0.5) * this.height;
  }

  ticks() {
    return this.names.map((name, row) => [this.at(name), this.labels[row]]);
  }
}

// ------------------------------------------------------------------ traces

const DASHES = { dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 4", longdashdot: "10 3 2 3" };

function path(trace, x, y) {
  let pen = "M";
  return trace.x.map((value, place) => {
    if (trace.y[place] === null) {
      pen = "M";
      return "";
    }
    const part = `${pen}${x.at(value).toFixed(1)} ${y.at(trace.y[place]).toFixed(1)}`;
    pen = "L";
    return part;
  }).join("");
}

function drawMap(into, trace, x, rows) {
  const width = trace.x.length > 1 ? Math.abs(x.at(trace.x[1]) - x.at(trace.x[0])) : 40;
  const across = (width + 0.6).toFixed(1); // no seams between cells
  const levels = Array.from({ length: 11 }, () => []);
  trace.z.forEach((row, r) => row.forEach((share, c) => {
    const left = (x.at(trace.x[c]) - width / 2).toFixed(1), top = (rows.top + r * rows.height).toFixed(1);
    levels[Math.round(10 * (share || 0))].push(`M${left} ${top}h${across}v${rows.height.toFixed(1)}h-${across}z`);
  }));
  levels.forEach((cells, level) => {
    if (!cells.length) return;
    const shape = { d: cells.join(""), "shape-rendering": "crispEdges" };
    add(into, "path", { ...shape, fill: trace.colorscale[0][1] });
    if (level) add(into, "path", { ...shape, fill: trace.colorscale[1][1], "fill-opacity": level / 10 });
  });
}

function drawDots(into, trace, x, y) {
  const { color, size, opacity } = trace.marker;
  // A line without length and with round ends is a dot: one element for a thousand of them.
  const dots = trace.x.map((value, place) => trace.y[place] === null ? ""
    : `M${x.at(value).toFixed(1)} ${y.at(trace.y[place]).toFixed(1)}h0`);
  if (trace.error_x) {
    const bars = trace.x.map((value, place) => {
      const low = x.at(value - trace.error_x.arrayminus[place]), high = x.at(value + trace.error_x.array[place]);
      return `M${low.toFixed(1)} ${y.at(trace.y[place]).toFixed(1)}H${high.toFixed(1)}`;
    });
    add(into, "path", { d: bars.join(""), stroke: color, "stroke-width": 1.5 });
  }
  add(into, "path", { d: dots.join(""), stroke: color, "stroke-width": size, "stroke-linecap": "round", "stroke-opacity": opacity });
}

function drawTrace(into, trace, x, y) {
  if (trace.type === "heatmap") drawMap(into, trace, x, y);
  else if (trace.fill) add(into, "path", { d: `${path(trace, x, y)}Z`, fill: trace.fillcolor });
  else if (trace.mode === "lines") {
    const dash = trace.line.dash ? { "stroke-dasharray": DASHES[trace.line.dash] } : {};
    add(into, "path", { d: path(trace, x, y), fill: "none", stroke: trace.line.color, "stroke-width": 2, ...dash });
  } else drawDots(into, trace, x, y);
}

// ------------------------------------------------------------------ the whole

function drawLegend(svg, traces, left, width) {
  let x = left, y = 14;
  const rank = (trace) => trace.legendrank || 1000;
  for (const trace of [...traces].sort((a, b) => rank(a) - rank(b))) {
    const part = add(svg, "g", {});
    const colour = trace.fillcolor || (trace.marker || trace.line).color;
    add(part, "rect", { x: 0, y: -6, width: 18, height: trace.mode === "lines" && !trace.fill ? 2 : 8, fill: colour });
    add(part, "text", { x: 24, y: 0 }, trace.name);
    const taken = part.getBBox().width + 16;
    if (x > left && x + taken > width) [x, y] = [left, y + 18];
    part.setAttribute("transform", `translate(${x} ${y})`);
    x += taken;
  }
  return y + 10;
}

function ends(trace, axis) {
  const error = axis === "x" && trace.error_x;
  if (!error) return trace[axis];
  return trace.x.flatMap((value, place) => [value - error.arrayminus[place], value + error.array[place]]);
}

function sketch(plot, data, layout) {
  const width = plot.clientWidth, height = layout.height, isList = layout.yaxis.type === "category";
  plot.querySelector(".sketch")?.remove();
  const svg = add(plot, "svg", {
    class: "sketch", width, height, fill: layout.font.color, "font-family": layout.font.family, "font-size": 12,
  });
  const top = layout.showlegend ? drawLegend(svg, data, layout.margin.l, width) : layout.margin.t;
  const hasDots = data.some((trace) => trace.mode === "markers"), hasScale = data[0].type === "heatmap" && data[0].showscale !== false;
  const bottom = height - layout.margin.b, right = width - (hasScale ? 70 : layout.margin.r); // its scale
  const y = isList ? new Rows(data[0].y, layout.yaxis.ticktext, top, bottom)
    : new Scale(layout.yaxis, data.flatMap((trace) => ends(trace, "y")), bottom, top, 7);
  const marks = y.ticks().map(([place, text]) => [place, add(svg, "text", { y: place + 4, "text-anchor": "end" }, text)]);
  const title = layout.yaxis.title.text ? 20 : 4;
  const left = Math.max(layout.margin.l, title + 8 + marks.reduce((most, [, mark]) => Math.max(most, mark.getBBox().width), 0));
  const places = data.flatMap((trace) => ends(trace, "x"));
  const x = new Scale(layout.xaxis, places, left, right, Math.max(2, width / 75), hasDots ? 0.04 : 0);
  const grid = { stroke: layout.xaxis.gridcolor, "stroke-width": 1 };
  for (const [place, mark] of marks) {
    mark.setAttribute("x", left - 6);
    add(svg, "path", { d: `M${left} ${place}H${right}`, ...grid });
  }
  for (const [place, text] of x.ticks()) {
    add(svg, "path", { d: `M${place} ${top}V${bottom}`, ...grid });
    add(svg, "text", { x: place, y: bottom + 16, "text-anchor": "middle" }, text);
  }
  for (const trace of data) drawTrace(svg, trace, x, y);
  add(svg, "text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, layout.xaxis.title.text);
  const middle = (top + bottom) / 2;
  add(svg, "text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, layout.yaxis.title.text);
}
