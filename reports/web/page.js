// Builds the page from the document. Text reaches the page as text nodes only.
"use strict";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function count(value) {
  return Number(value).toLocaleString("en-US");
}

function percent(part, whole) {
  if (!whole) return "–";
  const value = (100 * part) / whole;
  for (let decimals = 1; decimals <= 6; ++decimals) {
    const text = trimmed(value, decimals);
    if (!((text === "100" && part < whole) || (text === "0" && part > 0))) return text + " %";
  }
  return value > 50 ? "just below 100 %" : "just above 0 %";
}

function table(className, head, rows, label) {
  const cell = (tag, value, index) => {
    const given = value instanceof Node ? { node: value } : typeof value === "object" && value ? value
      : { text: String(value ?? "") };
    const made = element(tag, { class: [given.class, given.number ? "number" : ""].join(" ").trim() || null,
                                scope: tag === "th" ? (index === 0 ? "row" : "col") : null });
    made.append(given.node ?? given.text ?? "");
    return made;
  };
  const body = rows.map((row) => element("tr", { class: row.class || null },
    ...(row.cells || row).map((value, index) => cell(index === 0 ? "th" : "td", value, index))));
  const made = element("table", { class: className || null },
    element("thead", {}, element("tr", {}, ...head.map((value) => cell("th", value, 1)))),
    element("tbody", {}, ...body));
  made.style.setProperty("--columns", head.length - 1);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, made);
}

const number = (text, className) => ({ text, number: true, class: className });
const tally = (value) => number(count(value), value === 0 ? "zero" : null);

function banner(run) {
  const failed = run.exit_status !== 0;
  const kind = !run.valid ? "doubt" : failed ? "bad" : "";
  const word = !run.valid ? "Not valid evidence" : failed ? "Failed" : run.verdicts.length ? "Held" : "Done";
  const simulated = ["1", "true"].includes(String(run.facts.simulated));
  const about = [simulated ? "simulated" : run.facts.simulated !== undefined ? "played live" : null,
                 run.facts.started_at, `lasted ${formatMs(run.duration_ms)}`,
                 run.facts.seed !== undefined ? `seed ${run.facts.seed}` : null,
                 run.facts.version ? `gatedrill ${run.facts.version}` : null];
  return element("section", { class: `banner ${kind}`, "aria-label": "verdict" },
    element("div", { class: "word" }, word),
    element("h1", {}, `${run.title}: ${run.valid ? "" : "otherwise "}${run.headline}`),
    run.facts.title ? element("p", {}, run.facts.title) : null,
    element("p", { class: "soft" }, about.filter(Boolean).join(" · ")),
    run.invalid_because.length
      ? element("ul", {}, ...run.invalid_because.map((reason) => element("li", {}, reason))) : null);
}

function verdictCell(verdict) {
  if (!verdict) return { text: "" };
  const mark = verdict.passed === null ? "no data" : verdict.passed ? "✓ held" : "✗ failed";
  const node = element("div", {}, element("span", { class: "mark" }, mark));
  if (verdict.passed !== null) node.append(element("div", {}, verdict.actual));
  if (verdict.note) node.append(element("div", {}, element("small", {}, verdict.note)));
  return { node, class: verdict.passed === null ? "unknown" : verdict.passed ? "held" : "failed" };
}

// One row an expectation, one column a variant; what did not hold comes first.
function verdicts(run) {
  if (run.verdicts.length === 0) return [];
  const judged = new Set(run.verdicts.map((verdict) => verdict.gateway));
  const variants = run.gateways.map((gateway) => gateway.name).filter((name) => judged.has(name));
  const names = [...new Set([...variants, ...judged])];
  const rows = new Map();
  for (const verdict of run.verdicts) {
    const key = verdict.name + "\n" + verdict.expression;
    if (!rows.has(key)) rows.set(key, { verdict, cells: new Map() });
    rows.get(key).cells.set(verdict.gateway, verdict);
  }
  const badness = (row) => Math.min(...[...row.cells.values()].map((verdict) =>
    verdict.passed === false ? 0 : verdict.passed === null ? 1 : 2));
  const sorted = [...rows.values()].sort((a, b) => badness(a) - badness(b));
  return [element("h2", {}, "What was expected"),
    table("verdicts", ["expectation", ...names.map((name) => name || "the run")],
      sorted.map((row) => [
        element("div", {}, row.verdict.name !== row.verdict.expression
          ? element("div", {}, row.verdict.name) : null, element("code", {}, row.verdict.expression)),
        ...names.map((name) => verdictCell(row.cells.get(name)))]), "expectations by variant")];
}

function sideBySide(run, outcomes) {
  const gateways = run.gateways;
  const rows = [];
  const group = (text) => rows.push({ class: "group", cells: [text, ...gateways.map(() => "")] });
  const figures = (label, value) => {
    const cells = gateways.map(value);
    if (cells.some((cell) => cell !== null)) rows.push([label, ...cells.map((cell) => cell ?? number("–", "zero"))]);
  };
  const outcomeCell = (gateway, outcome) => {
    const requests = gateway.outcomes.filter((each) => outcomeKey(each) === outcome.key)
      .reduce((sum, each) => sum + each.requests, 0);
    const bar = element("span", { class: "share" });
    bar.style.width = (100 * requests) / Math.max(gateway.requests, 1) + "%";
    bar.style.background = `var(${outcome.color})`;
    return { node: element("div", {}, requests ? `${count(requests)}  ` : "0", requests
      ? element("small", {}, percent(requests, gateway.requests)) : null, bar),
      number: true, class: requests ? null : "zero" };
  };
  figures("requests", (gateway) => tally(gateway.requests));
  for (const outcome of [...outcomes].reverse()) {
    rows.push([element("span", {}, swatch(outcome), outcomeLabel(outcome.key)),
               ...gateways.map((gateway) => outcomeCell(gateway, outcome))]);
  }
  group("latency");
  for (const name of ["p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms"]) {
    figures(name.replace("_ms", "").replace("p999", "p99.9"), (gateway) => number(formatMs(gateway.latency[name])));
  }
  group("towards the origins");
  figures("attempts for each request sent", (gateway) => gateway.reached_upstream
    ? number(trimmed(gateway.upstream_attempts / gateway.reached_upstream, 3)) : null);
  figures("retries", (gateway) => gateway.ours ? tally(gateway.retries) : null);
  figures("executions", (gateway) => gateway.origin ? tally(gateway.origin.executions) : null);
  figures("executed more than once", (gateway) => gateway.origin ? tally(gateway.origin.repeated) : null);
  figures("of these POST", (gateway) => gateway.origin ? tally(gateway.origin.repeated_posts) : null);
  if (gateways.some((gateway) => gateway.client)) {
    group("as the client saw it");
    figures("intended", (gateway) => gateway.client ? tally(gateway.client.intended) : null);
    figures("never answered", (gateway) => gateway.client ? tally(gateway.client.missing) : null);
    figures("answered as recorded, whole", (gateway) => gateway.client && gateway.client.comparable
      ? number(percent(gateway.client.as_recorded, gateway.client.comparable)) : null);
    figures("on a side connection", (gateway) => gateway.client ? tally(gateway.client.side_connections) : null);
  }
  return [element("h2", {}, "Side by side"),
    table("matrix", ["", ...gateways.map((gateway) =>
      number(gateway.name + (gateway.ours ? "" : " (from outside)")))], rows, "variants side by side")];
}

function swatch(outcome) {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = `var(${outcome.color})`;
  return made;
}

function secondsTable(gateway, outcomes, seconds) {
  const own = outcomes.filter((outcome) => gateway.outcomes.some((each) => outcomeKey(each) === outcome.key));
  const values = own.map((outcome) => perSecond(gateway, outcome.key, seconds));
  const latency = gateway.latency_per_second;
  const rows = [];
  for (let second = 0; second < seconds; ++second) {
    rows.push([formatSecond(second), ...values.map((series) => tally(series[second])),
      ...["p50_ms", "p90_ms", "p99_ms", "max_ms"].map((name) => number(formatMs(latency[name][second])))]);
  }
  return table("seconds", ["second", ...own.map((outcome) => number(outcomeLabel(outcome.key))),
    number("p50"), number("p90"), number("p99"), number("max")], rows, `${gateway.name}, second by second`);
}

function card(run, gateway, outcomes, state, group) {
  const lanes = lanesOf(run, gateway);
  const readout = element("div", { class: "readout", "aria-live": "off" });
  const place = element("div", { role: "img", "aria-label":
    `${gateway.name}: requests a second by outcome, drawn; the same figures are in the table below` });
  const below = element("div", { role: "img", "aria-label":
    `${gateway.name}: latency percentiles over time, drawn; the same figures are in the table below` });
  const lanesPlace = element("div", { class: "lanes" });
  lanesPlace.style.marginLeft = kAxisWidth + "px";
  lanesPlace.style.marginRight = kRightPadding + "px";
  const failed = gateway.outcomes.filter((outcome) => outcome.status === 0 || outcome.status >= 500)
    .reduce((sum, outcome) => sum + outcome.requests, 0);
  const details = element("details", {}, element("summary", {}, "second by second, as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) {
      details.append(secondsTable(gateway, outcomes, state.seconds));
    }
  });
  const line = (name) => {
    const mark = element("span", { class: "swatch" });
    mark.style.background = `var(--${name})`;
    return element("span", {}, mark, name);
  };
  const made = element("article", { class: "card" },
    element("header", {}, element("h3", {}, gateway.name),
      element("span", { class: "soft" }, `${count(gateway.requests)} requests · ` +
        `${count(failed)} failed (5xx or no answer) · p99 ${formatMs(gateway.latency.p99_ms)}` +
        (gateway.ours ? "" : " · seen from outside"))),
    element("div", { class: "chart-title" }, "requests a second"), place, lanesPlace,
    element("div", { class: "chart-title" }, "latency",
      element("span", { class: "key" }, line("p50"), line("p90"), line("p99"))), below, readout, details);

  let charts = [];
  const idle = "move over a chart to read a second; drag to zoom, double-click to zoom out";
  const read = (chart) => {
    const second = chart.cursor.idx === null || chart.cursor.left < 0 ? -1
      : Math.floor(chart.posToVal(chart.cursor.left, "x"));
    if (second < 0 || second >= state.seconds) {
      readout.replaceChildren(idle);
      return;
    }
    const parts = [element("b", {}, `at ${formatSecond(second)}: `)];
    for (const outcome of outcomes) {
      const requests = perSecond(gateway, outcome.key, state.seconds)[second];
      if (requests) parts.push(swatch(outcome), `${count(requests)} ${outcomeLabel(outcome.key)}   `);
    }
    const latency = gateway.latency_per_second;
    if (latency.p50_ms[second] !== null) {
      parts.push(`p50 ${formatMs(latency.p50_ms[second])}, p99 ${formatMs(latency.p99_ms[second])}`);
    }
    readout.replaceChildren(...parts);
  };
  const draw = () => {
    charts.forEach((chart) => chart.destroy());
    const width = Math.max(place.clientWidth, 200);
    readout.replaceChildren(idle);
    charts = [
      requestChart(place, width, group, gateway, outcomes, state, lanes, (chart) => {
        drawLanes(lanesPlace, lanes, chart.scales.x.min, chart.scales.x.max);
      }, read),
      latencyChart(below, width, group, gateway, state, lanes),
    ];
    state.charts.push(...charts);
  };
  return { made, draw };
}

function timelines(run, outcomes, group) {
  if (run.gateways.length === 0) return { nodes: [], draw: () => {} };
  const seconds = Math.max(1, ...run.gateways.map((gateway) => gateway.latency_per_second.p50_ms.length));
  const state = { seconds, hidden: new Set(), charts: [] };
  const latencies = run.gateways.flatMap((gateway) =>
    ["p50_ms", "p90_ms", "p99_ms"].flatMap((name) => gateway.latency_per_second[name])).filter((ms) => ms > 0);
  const lowest = latencies.reduce((a, b) => Math.min(a, b), Infinity);
  const highest = latencies.reduce((a, b) => Math.max(a, b), 0);
  state.latencyMin = Number.isFinite(lowest) ? 10 ** Math.floor(Math.log10(Math.max(lowest, 0.01))) : 1;
  state.latencyMax = Math.max(10 ** Math.ceil(Math.log10(highest || 1000)), state.latencyMin * 10);
  const most = (keys) => Math.max(0, ...run.gateways.map((gateway) => {
    const sums = new Array(seconds).fill(0);
    for (const key of keys) perSecond(gateway, key, seconds).forEach((value, i) => { sums[i] += value; });
    return sums.reduce((a, b) => Math.max(a, b), 0);
  }));
  const keys = outcomes.map((outcome) => outcome.key);
  const failures = keys.filter((key) => key !== "ok");
  // Failures that would be a hair beside the rest are shown alone at first.
  if (failures.length && most(failures) < 0.04 * most(keys)) state.hidden.add("ok");
  const cards = run.gateways.map((gateway) => card(run, gateway, outcomes, state, group));
  const draw = () => {
    state.charts = [];
    state.requestsMax = most(keys.filter((key) => !state.hidden.has(key)));
    cards.forEach((each) => each.draw());
    if (state.zoom) state.charts.forEach((chart) => chart.setScale("x", state.zoom));
  };
  const redraw = () => {
    const scale = state.charts[0]?.scales.x;
    state.zoom = scale ? { min: scale.min, max: scale.max } : null;
    draw();
    sync();
  };
  const buttons = outcomes.map((outcome) => {
    const button = element("button", { type: "button" }, swatch(outcome), outcomeLabel(outcome.key));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(outcome.key)) state.hidden.add(outcome.key);
      redraw();
    });
    return { button, key: outcome.key };
  });
  const only = element("button", { type: "button", class: "plain" }, "failures only");
  only.addEventListener("click", () => {
    if (!state.hidden.delete("ok")) state.hidden.add("ok");
    redraw();
  });
  const sync = () => {
    for (const { button, key } of buttons) button.setAttribute("aria-pressed", String(!state.hidden.has(key)));
    only.setAttribute("aria-pressed", String(state.hidden.has("ok")));
  };
  sync();
  return {
    nodes: [element("h2", {}, "What happened, second by second"),
      element("p", { class: "soft" }, "All variants share the axes. Bands below each chart: phases, faults, " +
        "and the states of breakers, health checks and levels that were not the usual ones."),
      element("div", { class: "legend", role: "group", "aria-label": "outcomes shown" },
        ...buttons.map(({ button }) => button), failures.length ? only : null),
      element("div", { class: "variants" }, ...cards.map((each) => each.made))],
    draw, redraw,
  };
}

// Rows that say the same of several variants become one, with a column for each variant.
function byVariant(run, items, keyOf, cellOf) {
  const names = run.gateways.map((gateway) => gateway.name);
  for (const item of items) if (!names.includes(item.gateway)) names.push(item.gateway);
  const rows = new Map();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    if (!rows.has(key)) rows.set(key, { item, cells: new Map() });
    rows.get(key).cells.set(item.gateway, cellOf(item));
  }
  const used = names.filter((name) => items.some((item) => item.gateway === name));
  return { names: used, rows: [...rows.values()].map(({ item, cells }) =>
    ({ item, cells: used.map((name) => cells.has(name) ? tally(cells.get(name)) : number("–", "zero")) })) };
}

function faults(run) {
  const nodes = [];
  const hitsOf = (names) => names.map((name) => number(name ? `hits in ${name}` : "hits"));
  if (run.faults.length) {
    const { names, rows } = byVariant(run, run.faults, (fault) =>
      [fault.name, fault.kind, fault.target, fault.from_ms, fault.until_ms], (fault) => fault.hits);
    nodes.push(element("h2", {}, "Faults"),
      table("", ["fault", "kind", "target", number("from"), number("until"), ...hitsOf(names)],
        rows.map(({ item, cells }) => [item.name, item.kind, item.target || "–", number(formatMs(item.from_ms)),
          number(item.until_ms === null ? "the end" : formatMs(item.until_ms)), ...cells]), "faults"));
  }
  if (run.hits.length) {
    const { names, rows } = byVariant(run, run.hits, (hit) => [hit.fault, hit.planned, hit.observed],
      (hit) => hit.hits);
    nodes.push(element("h2", {}, "What the faults did: planned and observed"),
      table("", ["fault", "planned", "observed", ...hitsOf(names)],
        rows.map(({ item, cells }) => [item.fault, item.planned || "–", item.observed || "–", ...cells]),
        "fault hits"));
  }
  return nodes;
}

function states(run) {
  const nodes = [];
  if (run.transitions.length) {
    nodes.push(element("h2", {}, "State changes"), element("details", { open: run.transitions.length <= 40 },
      element("summary", {}, `${count(run.transitions.length)} changes of breakers, health, levels`),
      table("", [number("at"), "variant", "what", "subject", "from", "to", "why"],
        run.transitions.map((each) => [number(formatMs(each.at_ms)), each.gateway, each.kind, each.subject,
          each.from_state, each.to_state, each.reason]), "state changes")));
  }
  if (run.probes.length) {
    nodes.push(element("h2", {}, "Health probes"), element("details", {},
      element("summary", {}, "verdicts by endpoint"),
      table("", ["variant", "endpoint", "verdict", number("probes")], run.probes.map((probe) =>
        [probe.gateway, probe.endpoint, probe.verdict, tally(probe.probes)]), "health probes")));
  }
  return nodes;
}

// Facts `live.PLACE`, "incident -> live": which durations a live play shortened.
function liveMapping(run) {
  const rows = Object.entries(run.facts).filter(([key]) => key.startsWith("live."))
    .map(([key, value]) => [element("code", {}, key.slice(5)), ...String(value).split(" -> ").map((text) => number(text))]);
  if (rows.length === 0) return [];
  return [element("h3", {}, "Durations of this play"),
    table("", ["what", number("in the incident"), number("played")], rows, "durations of this play")];
}

function measured(run) {
  const facts = Object.entries(run.facts).filter(([key]) =>
    !["valid", "invalid_because", "name", "title"].includes(key) && !key.startsWith("live."));
  const outside = run.gateways.filter((gateway) => !gateway.ours).map((gateway) => gateway.name);
  const notes = [
    "Totals and percentiles come from exact counters and histograms (HdrHistogram, three digits), whatever rows were kept.",
    "A request belongs to the second in which it arrived, even if it was answered later.",
    "Answered means a status below 400. No data is never a pass.",
    outside.length ? `${outside.join(", ")}: not one of ours, so it is judged by what its client and the origins saw; ` +
      "causes are not known, and latency runs from the sending of a request to its whole answer." : null,
  ];
  const nodes = [element("h2", {}, "How this was measured"),
    element("div", { class: "measured" },
      element("ul", { class: "soft" }, ...notes.filter(Boolean).map((note) => element("li", {}, note))),
      element("dl", {}, ...facts.flatMap(([key, value]) =>
        [element("dt", {}, key.replaceAll("_", " ")), element("dd", {}, String(value))])),
      element("div", {}, ...liveMapping(run)))];
  if (run.lost.length) {
    nodes.push(element("h2", {}, "What was lost"), table("", ["place", number("count"), "reason"],
      run.lost.map((loss) => [loss.place, tally(loss.count), loss.reason]), "losses"));
  }
  return nodes;
}

function build() {
  const report = JSON.parse(document.getElementById("document").textContent);
  const redraws = [];
  report.runs.forEach((run, index) => {
    const outcomes = outcomesOf(run.gateways);
    const charts = timelines(run, outcomes, `run-${index}`);
    document.getElementById("report").append(element("div", { class: "run" }, banner(run), ...verdicts(run),
      ...(run.gateways.length ? sideBySide(run, outcomes) : []), ...charts.nodes, ...faults(run),
      ...states(run), ...measured(run)));
    charts.draw();
    if (charts.redraw) redraws.push(charts.redraw);
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraws.forEach((redraw) => redraw());
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    redraws.forEach((redraw) => redraw()));
}

build();
