// Charts of the results and of the best over time.

import { faded, palette, plain, shortened } from "./charts.js";
import { drawable, namedScale, scaleOf, valueAxis, varying } from "./scales.js";
import { baselineTraces, limitLines, limitNotes } from "./live.js";
import { choiceInContext, interval } from "./words.js";

const GAP = 0.16; // between rows, as a share of a row with its gap

/** Results over time, with the estimated best and its 95 % band; of one metric if there are several. */
export function rewardsFigure(track, clock, { isLog, metric }) {
  const { limits } = track;
  const { results, best } = ofMetric(track, metric);
  const bounds = limits?.[metric] ?? [];
  const colours = palette();
  const times = best.map((one) => clock.at(one.t));
  const bands = best.map((one) => drawable(interval(one), one.mean, isLog));
  const [faults, usual] = [results.filter((one) => one.fault), results.filter((one) => !one.fault)];
  const edge = { type: "scatter", mode: "lines", x: times, line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  return {
    traces: [
      ...baselineTraces(best, clock, colours),
      { ...edge, y: bands.map(([low]) => low) },
      { ...edge, y: bands.map(([, high]) => high), fill: "tonexty", fillcolor: faded(colours.orange, 0.2) },
      {
        type: "scatter",
        mode: "lines",
        name: "estimated best, 95 %",
        x: times,
        y: best.map((one) => one.mean),
        line: { color: colours.orange, width: 2 },
        hovertemplate: "estimated best %{y:.8~g}<extra></extra>",
      },
      dots("results", usual, clock, { color: colours.blue, size: 7, opacity: 0.75 }),
      ...(faults.length ? [dots("taken for faults", faults, clock, { color: colours.ink, size: 8, symbol: "x-thin-open" })] : []),
    ],
    layout: {
      showlegend: true,
      margin: { l: 56, r: 12, t: 32, b: 48 },
      xaxis: clock.axis,
      yaxis: valueAxis(results.map((one) => one.value), isLog, metric ?? "value"),
      shapes: limitLines(bounds, colours),
      annotations: limitNotes(bounds, colours),
    },
    label: `${results.length} results over time, ${faults.length} of them taken for faults, with the estimated best.`,
  };
}

/** The results and the believed best of one metric. */
export function ofMetric({ results, best }, metric) {
  if (metric === undefined) return { results, best };
  return {
    results: results.filter((one) => metric in one.metrics).map((one) => ({ ...one, value: one.metrics[metric] })),
    best: best.filter((one) => one.metrics?.[metric]).map((one) => ({
      ...one, ...one.metrics[metric], baseline: one.baseline?.metrics[metric],
    })),
  };
}

const dots = (name, results, clock, marker) => ({
  type: "scatter",
  mode: "markers",
  name,
  x: results.map((one) => clock.at(one.t)),
  y: results.map((one) => one.value),
  customdata: results.map((one) => [
    plain(clock.label(one.t)), plain(shortened(choiceInContext(one), 80)), one.reason ? `<br>why: ${plain(one.reason)}` : "",
  ]),
  marker,
  hovertemplate: "%{customdata[0]}<br>value %{y:.8~g}<br>%{customdata[1]}%{customdata[2]}<extra></extra>",
});

/** The estimated best over time, with the chosen values. */
export function movesFigure(track, setup, clock, { limit, isNarrow }) {
  if (setup.options) return rows([optionRow(track, isNarrow)], track, clock);
  const names = varying(setup.space).slice(0, limit);
  return rows(names.map((name) => parameterRow(name, setup.space[name])), track, clock);
}

function optionRow({ best }, isNarrow) {
  const names = [...new Set(best.map((one) => one.option))].sort().reverse();
  const scale = namedScale(names, undefined, isNarrow ? 12 : 20);
  return { ...scale, isDiscrete: true, of: (one) => one.option };
}

const parameterRow = (name, parameter) => ({ ...scaleOf(name, parameter), of: (one) => one.params[name] });

function rows(scales, { results, best }, clock) {
  const colours = palette();
  const share = 1 / (scales.length - GAP); // of a row and the gap below it
  const layout = { showlegend: true, margin: { l: 56, r: 12, t: 32, b: 48 } };
  const traces = scales.flatMap((scale, i) => {
    const axis = i === 0 ? "" : String(i + 1);
    const top = 1 - i * share;
    layout[`yaxis${axis}`] = { ...scale.axis, domain: [top - (1 - GAP) * share, top] };
    const on = { type: "scatter", yaxis: `y${axis}`, showlegend: i === 0 };
    return [
      {
        ...on,
        mode: "markers",
        cliponaxis: false,
        name: "chosen",
        x: results.map((one) => clock.at(one.t)),
        y: results.map((one) => scale.place(scale.of(one)) ?? null),
        marker: { color: colours.blue, size: 5, opacity: 0.45 },
        hoverinfo: "skip",
      },
      {
        ...on,
        mode: "lines+markers",
        cliponaxis: false,
        name: "estimated best",
        x: best.map((one) => clock.at(one.t)),
        y: best.map((one) => scale.place(scale.of(one))),
        customdata: best.map((one) => [plain(clock.label(one.t)), plain(shortened(choiceInContext(one), 80))]),
        line: { color: colours.orange, width: 2, shape: scale.isDiscrete ? "hv" : "linear" },
        marker: { size: 4 },
        hovertemplate: "%{customdata[0]}<br>best: %{customdata[1]}<extra></extra>",
      },
    ];
  });
  const bottom = scales.length === 1 ? "y" : `y${scales.length}`;
  layout.xaxis = { ...clock.axis, anchor: bottom };
  return {
    traces,
    layout,
    label: "The estimated best over time.",
    height: scales.length > 2 ? 60 + 140 * scales.length : undefined,
  };
}
