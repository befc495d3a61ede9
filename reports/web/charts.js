// The charts of a variant: requests by outcome, stacked, and latency percentiles, on one time axis,
// with phases, faults and states as bands below. Everything drawn here is in a table, too.
"use strict";

const kAxisWidth = 58;
const kRightPadding = 14;

function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function formatMs(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms === 0) return "0";
  if (ms >= 300000) return trimmed(ms / 60000, 1) + " min";
  if (ms >= 1000) return trimmed(ms / 1000, ms < 10000 ? 2 : 1) + " s";
  return trimmed(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0) + " ms";
}

function trimmed(value, decimals) {
  return String(Number(value.toFixed(decimals)));
}

function formatSecond(second) {
  if (second < 120) return trimmed(second, 1) + " s";
  const minutes = Math.floor(second / 60);
  return minutes + ":" + String(Math.floor(second % 60)).padStart(2, "0");
}

// Status first, because 502 and 504 have different stories; causes are shades of it.
function outcomeFamily(outcome) {
  if (outcome.status === 0) return "none";
  if (outcome.status < 400) return "ok";
  if ([502, 503, 504].includes(outcome.status)) return "s" + outcome.status;
  return outcome.status < 500 ? "s4xx" : "s5xx";
}

function outcomeKey(outcome) {
  return outcomeFamily(outcome) === "ok" ? "ok" : outcome.status + " " + outcome.cause;
}

function outcomeLabel(key) {
  if (key === "ok") return "answered (below 400)";
  return key.replace(/^0 /, "no answer: ").replace(/^(\d+) $/, "$1 (seen from outside)");
}

// All outcomes of all variants: failures first, as they stand at the bottom of the stack.
function outcomesOf(gateways) {
  const found = new Map();
  for (const gateway of gateways) {
    for (const outcome of gateway.outcomes) {
      const key = outcomeKey(outcome);
      if (!found.has(key)) {
        found.set(key, { key, family: outcomeFamily(outcome), status: outcome.status, requests: 0 });
      }
      found.get(key).requests += outcome.requests;
    }
  }
  const rank = { s504: 0, s502: 1, s503: 2, s5xx: 3, none: 4, s4xx: 5, ok: 6 };
  const all = [...found.values()].sort((a, b) =>
    rank[a.family] - rank[b.family] || b.requests - a.requests || (a.key < b.key ? -1 : 1));
  const shades = {};
  for (const outcome of all) {
    // What is seen from outside has no cause: it looks like its status's most frequent one.
    const known = !/^\d+ $/.test(outcome.key);
    const shade = known ? (shades[outcome.family] = (shades[outcome.family] || 0) + 1) : 1;
    outcome.color = outcome.family === "ok" ? "--ok-1" : `--${outcome.family}-${(shade - 1) % 3 + 1}`;
  }
  return all;
}

// A variant's requests a second of one outcome; several statuses below 400 count together.
const summed = new WeakMap();

function perSecond(gateway, key, seconds) {
  if (!summed.has(gateway)) summed.set(gateway, new Map());
  const known = summed.get(gateway);
  if (known.has(key)) return known.get(key);
  const sum = new Array(seconds).fill(0);
  known.set(key, sum);
  for (const outcome of gateway.outcomes) {
    if (outcomeKey(outcome) !== key) continue;
    outcome.per_second.forEach((requests, second) => { sum[second] += requests; });
  }
  return sum;
}

// Bands: what was going on when. Each has a lane of its own below the chart.
function lanesOf(run, gateway) {
  const end = run.duration_ms;
  const lanes = new Map();
  const add = (label, from, until, color, title) => {
    if (!lanes.has(label)) lanes.set(label, []);
    lanes.get(label).push({ from: from / 1000, until: (until ?? end) / 1000, color, title });
  };
  const about = (each) => each.gateway === "" || each.gateway === gateway.name;
  // A fault that is a phase as well needs one lane only.
  const faults = new Set(run.faults.filter(about).map((fault) => fault.name));
  for (const phase of run.phases.filter(about)) {
    if (faults.has(phase.name)) continue;
    add(phase.name.replace(/[-_ ]?\d+$/, ""), phase.from_ms, phase.until_ms, "--phase",
        `phase ${phase.name}`);
  }
  for (const fault of run.faults.filter(about)) {
    add(fault.name, fault.from_ms, fault.until_ms, "--fault",
        `fault ${fault.name} (${fault.kind}) at ${fault.target || "everything"}: ${fault.hits} hits`);
  }
  const kinds = new Map();
  for (const transition of run.transitions.filter(about)) {
    if (!kinds.has(transition.kind)) kinds.set(transition.kind, new Map());
    const subjects = kinds.get(transition.kind);
    if (!subjects.has(transition.subject)) subjects.set(transition.subject, []);
    subjects.get(transition.subject).push(transition);
  }
  const subjects = [...kinds].flatMap(([kind, all]) => [...all].map(([subject, transitions]) =>
    ({ what: `${kind} ${subject}`, label: all.size > 3 ? `${kind} of ${all.size}` : `${kind} ${subject}`,
       transitions })));
  for (const { what, label, transitions } of subjects) {
    // The state before the first transition is the normal one.
    const normal = transitions[0].from_state;
    transitions.forEach((transition, index) => {
      if (transition.to_state === normal) return;
      const color = /half|warn|degrad|slow/.test(transition.to_state) ? "--doubt" :
        /open|down|unhealthy|eject|fail/.test(transition.to_state) ? "--bad" : "--accent";
      add(label, transition.at_ms, transitions[index + 1]?.at_ms, color,
          `${what}: ${transition.to_state} (${transition.reason})`);
    });
  }
  return lanes;
}

function drawLanes(place, lanes, min, max) {
  place.replaceChildren();
  const shown = [...lanes].slice(0, 14);
  for (const [label, bars] of shown) {
    const lane = element("div", { class: "lane", role: "img",
      "aria-label": `${label}: ` + bars.map((bar) =>
        `${formatSecond(bar.from)} to ${formatSecond(bar.until)}`).join(", ") });
    lane.append(element("span", { class: "label" }, label));
    for (const bar of bars) {
      const from = Math.max(bar.from, min), until = Math.min(bar.until, max);
      if (until < min || from > max) continue;
      const piece = element("span", { class: "bar",
        title: `${bar.title}, ${formatSecond(bar.from)} to ${formatSecond(bar.until)}` });
      piece.style.left = (100 * (from - min)) / (max - min) + "%";
      piece.style.width = (100 * Math.max(until - from, 0)) / (max - min) + "%";
      piece.style.background = `var(${bar.color})`;
      lane.append(piece);
    }
    place.append(lane);
  }
  if (lanes.size > shown.length) {
    place.append(element("div", { class: "soft" }, `and ${lanes.size - shown.length} more in the tables`));
  }
}

// Shades the phases and faults over the curves, lightly.
function shading(lanes) {
  return { hooks: { draw: [(chart) => {
    const { ctx, bbox } = chart;
    ctx.save();
    for (const bars of lanes.values()) {
      for (const bar of bars) {
        if (bar.color !== "--phase" && bar.color !== "--fault") continue;
        const left = Math.max(chart.valToPos(bar.from, "x", true), bbox.left);
        const right = Math.min(chart.valToPos(bar.until, "x", true), bbox.left + bbox.width);
        if (right <= left) continue;
        ctx.fillStyle = cssColor(bar.color);
        ctx.globalAlpha = 0.06;
        ctx.fillRect(left, bbox.top, right - left, bbox.height);
      }
    }
    ctx.restore();
  }] } };
}

function axes(yValues, ySplits) {
  const line = { stroke: cssColor("--grid"), width: 1 };
  const common = { stroke: cssColor("--soft"), font: "11px system-ui, sans-serif", grid: line,
                   ticks: { show: false } };
  return [
    { ...common, size: 24, gap: 7, values: (chart, splits) => splits.map(formatSecond),
      incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400] },
    { ...common, size: kAxisWidth, gap: 4, values: yValues, ...(ySplits || {}) },
  ];
}

function cursor(group) {
  return { sync: { key: group, setSeries: false }, points: { show: false }, drag: { x: true, y: false },
           y: false };
}

// Requests a second; returns the chart and how to show other outcomes.
function requestChart(place, width, group, gateway, outcomes, state, lanes, onScale, onCursor) {
  const seconds = state.seconds;
  const visible = outcomes.filter((outcome) => !state.hidden.has(outcome.key));
  const values = visible.map((outcome) => perSecond(gateway, outcome.key, seconds));
  // Stacked by drawing the highest sums first. The last second ends where the next would begin.
  const data = [Array.from({ length: seconds + 1 }, (_, second) => second)];
  const series = [{}];
  for (let top = visible.length - 1; top >= 0; --top) {
    const sums = Array.from({ length: seconds }, (_, second) => {
      let sum = 0;
      for (let i = 0; i <= top; ++i) sum += values[i][second];
      return sum;
    });
    data.push([...sums, sums[seconds - 1] ?? 0]);
    const color = cssColor(visible[top].color);
    series.push({ fill: color, stroke: color, width: 0, points: { show: false },
                  paths: uPlot.paths.stepped({ align: 1 }) });
  }
  if (visible.length === 0) {
    data.push(data[0].map(() => 0));
    series.push({ width: 0, points: { show: false } });
  }
  return new uPlot({
    width, height: 180, padding: [8, kRightPadding, 0, 0], series, legend: { show: false }, cursor: cursor(group), plugins: [shading(lanes)],
    scales: { x: { time: false, range: (chart, min, max) => [min, max] },
              y: { range: [0, Math.max(state.requestsMax * 1.06, 1)] } },
    axes: axes((chart, splits) => splits.map((value) => Number.isInteger(value) ? String(value) : "")),
    hooks: { setScale: [(chart, key) => key === "x" && onScale(chart)],
             setCursor: [(chart) => onCursor(chart)] },
  }, data, place);
}

function latencyChart(place, width, group, gateway, state, lanes) {
  const seconds = state.seconds;
  const latency = gateway.latency_per_second;
  const padded = (values) => Array.from({ length: seconds }, (_, i) => {
    const value = values[i];
    return value === null || value === undefined ? null : Math.max(value, state.latencyMin);
  });
  const line = (name, color, width) => ({ label: name, stroke: cssColor(color), width, spanGaps: false,
                                          points: { show: false } });
  return new uPlot({
    width, height: 160, padding: [8, kRightPadding, 0, 0], legend: { show: false }, cursor: cursor(group), plugins: [shading(lanes)],
    series: [{}, line("p50", "--p50", 2), line("p90", "--p90", 1.5), line("p99", "--p99", 1.5)],
    scales: { x: { time: false, range: (chart, min, max) => [min, max] },
              y: { distr: 3, range: [state.latencyMin, state.latencyMax] } },
    axes: axes((chart, splits) => splits.map((value) =>
      value !== null && Math.abs(Math.log10(value) % 1) < 1e-9 ? formatMs(value) : "")),
  }, [Array.from({ length: seconds }, (_, second) => second + 0.5), padded(latency.p50_ms),
      padded(latency.p90_ms), padded(latency.p99_ms)], place);
}
