// The belief as a figure: a heat map, a band, ranked options, or slices.

import { faded, palette, plain, shortened } from "./charts.js";
import { nearness } from "./contexts.js";
import { limitLines, limitNotes, limitWords, unsafeShades, unsafeVeil } from "./live.js";
import { drawable, namedScale, notation, scaleOf, valueAxis } from "./scales.js";
import { Z95, interval, listed, number } from "./words.js";

const RANKED = 30; // options shown, the best first
const RECENT = 60; // chosen points shown

/** The figure of a belief, or null if there is none.
 *
 * study: {setup, results, epsilon}; look: {isDeviation, isLog, isNarrow, limit}.
 */
export function beliefFigure(belief, study, look) {
  const draw = { map: mapFigure, band: bandFigure, options: rankedFigure, slices: slicesFigure }[belief.view];
  return draw ? draw(belief, study, look) : null;
}

/** A legend of the figure, in words. */
export function beliefWords(belief, look) {
  const words = [viewWords(belief, look), ...ruleWords(belief)].join(" ");
  return belief.context ? `At ${listed(belief.context)}. ${words}` : words;
}

/** What the shades and dotted lines mean. */
function ruleWords({ metric, limits, view, ...belief }) {
  const isLimited = Boolean(belief.safe ?? belief.slices?.[0]?.safe ?? belief.options?.some((one) => one.safe === false));
  const unsafe = { map: "Veiled", options: "Hollow" }[view] ?? "Shaded";
  return [
    ...(isLimited ? [`${unsafe}: not known to keep every limit.`] : []),
    ...(limits ?? []).map((limit) => `Limit: ${limitWords(metric, limit)}.`),
    ...(belief.baseline ? [`${["map", "options"].includes(view) ? "Square" : "Grey line"}: the baseline.`] : []),
  ];
}

function viewWords({ view, options, slices, context }, { isDeviation, limit }) {
  const [off, offs] = context ? [" or belongs to another context", " or belong to other contexts"] : ["", ""];
  if (view === "map") {
    const shown = isDeviation ? "standard deviation; dark is certain" : "expected value";
    return `Colour: ${shown}. Dots: chosen points; a faded one is stale${off}. Star: the best.`;
  }
  if (view === "band") return `Line: expected value with its 95\u00a0% band. Dots: results; faded ones are stale${offs}.`;
  if (view === "options") {
    const some = options.length > RANKED ? `The best ${RANKED} of ${options.length}. ` : "";
    return `${some}Dot: expected value. Bar: its 95\u00a0% interval.`;
  }
  if (view === "slices") {
    const some = slices.length > limit ? `The first ${limit} of ${slices.length}. ` : "";
    return `${some}One slice per parameter, through the best, with 95\u00a0% bands.`;
  }
  return "";
}

/** The latest results up to a time, each with its remaining weight and its context in words. */
function remembered({ results, epsilon, setup }, { t, context }) {
  const past = results.filter((one) => one.t <= t).slice(-RECENT);
  const rho = Math.sqrt(1 - (epsilon ?? 0.01));
  return past.map((one) => ({
    ...one,
    fresh: 0.12 + 0.88 * rho ** (t - one.t) * nearness(one.context, context, setup.context),
    where: one.context ? `<br>at ${plain(shortened(listed(one.context), 60))}` : "",
  }));
}

function mapFigure(belief, study, { isDeviation, isNarrow }) {
  const [across, up] = belief.parameters.map((name) => scaleOf(name, study.setup.space[name]));
  const [a, b] = belief.parameters;
  const chosen = remembered(study, belief);
  const shown = isDeviation ? "standard deviation" : "expected value";
  const heat = {
    type: "heatmap",
    x: belief.values[0].map(across.place),
    y: belief.values[1].map(up.place),
    z: isDeviation ? belief.std : belief.mean,
    colorscale: "Cividis",
    zsmooth: across.isDiscrete || up.isDiscrete ? false : "best",
    colorbar: { ...colourBar(shown, isNarrow), ...notation(belief.mean.flat()) },
    hovertemplate: `${plain(a)} %{x:.4g}<br>${plain(b)} %{y:.4g}<br>${shown} %{z:.8~g}<extra></extra>`,
  };
  const dots = {
    type: "scatter",
    mode: "markers",
    cliponaxis: false,
    x: chosen.map((one) => across.place(one.params[a])),
    y: chosen.map((one) => up.place(one.params[b])),
    customdata: chosen.map((one) => [one.t, one.value, one.where]),
    marker: { size: 8, color: "#ffffff", opacity: chosen.map((one) => one.fresh), line: { color: "#1b1b1b", width: 1 } },
    hovertemplate: "chosen at %{customdata[0]:.6g}<br>value %{customdata[1]:.8~g}%{customdata[2]}<extra></extra>",
  };
  const star = {
    type: "scatter",
    mode: "markers",
    cliponaxis: false,
    x: [across.place(belief.best.params[a])],
    y: [up.place(belief.best.params[b])],
    marker: { symbol: "star", size: 20, color: "#e8590c", line: { color: "#ffffff", width: 1.5 } },
    hovertemplate: `best: ${plain(a)} %{x:.4g}, ${plain(b)} %{y:.4g}<extra></extra>`,
  };
  const flat = { showgrid: false, ticks: "outside" };
  const square = !belief.baseline ? [] : [{
    ...star,
    x: [across.place(belief.baseline.params[a])],
    y: [up.place(belief.baseline.params[b])],
    marker: { symbol: "square", size: 13, color: "#9a93a8", line: { color: "#ffffff", width: 1.5 } },
    hovertemplate: `baseline: ${plain(a)} %{x:.4g}, ${plain(b)} %{y:.4g}<extra></extra>`,
  }];
  return {
    traces: [heat, ...unsafeVeil(belief, heat, palette()), dots, ...square, star],
    layout: { xaxis: { ...across.axis, ...flat }, yaxis: { ...up.axis, ...flat } },
    label: `Heat map: ${shown} over ${a} and ${b}; the star is the best.`,
  };
}

function colourBar(text, isNarrow) {
  const bar = { thickness: 12, outlinewidth: 0, title: { text, side: isNarrow ? "top" : "right" } };
  return isNarrow ? { ...bar, orientation: "h", y: -0.22, yanchor: "top" } : bar;
}

function bandFigure(belief, study, { isLog }) {
  const colours = palette();
  const name = belief.parameter;
  const scale = scaleOf(name, study.setup.space[name]);
  const chosen = remembered(study, belief);
  const dots = {
    type: "scatter",
    mode: "markers",
    x: chosen.map((one) => scale.place(one.params[name])),
    y: chosen.map((one) => one.value),
    customdata: chosen.map((one) => [one.t, one.where]),
    marker: { size: 7, color: colours.ink, opacity: chosen.map((one) => one.fresh) },
    hovertemplate: "chosen at %{customdata[0]:.6g}<br>value %{y:.8~g}%{customdata[1]}<extra></extra>",
  };
  const best = scale.place(belief.best.params[name]);
  return {
    traces: [...bandTraces(belief, scale, colours, "", isLog), dots],
    layout: {
      xaxis: scale.axis,
      yaxis: valueAxis(belief.mean, isLog, belief.metric ?? "value"),
      shapes: [
        ...unsafeShades(belief, scale, colours),
        ...limitLines(belief.limits, colours),
        ...(belief.baseline ? [upright(scale.place(belief.baseline.params[name]), { orange: colours.faint })] : []),
        upright(best, colours),
      ],
      annotations: limitNotes(belief.limits, colours),
    },
    label: `Expected value over ${name}; the best is at ${number(best)}.`,
  };
}

const upright = (x, colours, axis = "") => ({
  type: "line", x0: x, x1: x, xref: `x${axis}`, yref: `y${axis} domain`, y0: 0, y1: 1,
  line: { color: colours.orange, width: 1.5, dash: "dash" },
});

/** The mean and its 95 % band over one parameter; points with error bars if it is categorical. */
function bandTraces({ parameter, values, mean, std }, scale, colours, axis = "", isLog = false) {
  const on = { type: "scatter", x: values.map(scale.place), xaxis: `x${axis}`, yaxis: `y${axis}` };
  const hovertemplate = `${plain(parameter)} %{x:.4g}<br>expected %{y:.8~g}<extra></extra>`;
  if (scale.isDiscrete) {
    const array = std.map((one) => Z95 * one);
    const error_y = { type: "data", array, color: colours.blue, thickness: 1.5 };
    return [{ ...on, y: mean, error_y, mode: "markers", marker: { size: 9, color: colours.blue }, hovertemplate: "expected %{y:.8~g}<extra></extra>" }];
  }
  const edges = mean.map((m, i) => drawable(interval({ mean: m, std: std[i] }), m, isLog));
  const edge = { ...on, mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
  return [
    { ...edge, y: edges.map(([low]) => low) },
    { ...edge, y: edges.map(([, high]) => high), fill: "tonexty", fillcolor: faded(colours.blue, 0.2) },
    { ...on, y: mean, mode: "lines", line: { color: colours.blue, width: 2 }, hovertemplate },
  ];
}

function rankedFigure(belief, { setup }, { isNarrow }) {
  const colours = palette();
  const sign = setup.direction === "minimize" ? 1 : -1;
  const ranked = [...belief.options].sort((one, other) => sign * (one.mean - other.mean)).slice(0, RANKED).reverse();
  const scale = namedScale(ranked.map((one) => one.option), undefined, isNarrow ? 14 : 28);
  const places = ranked.map((_, i) => i);
  const edges = ranked.flatMap(interval);
  const bounds = (belief.limits ?? []).map(({ bound }) => bound);
  const bars = {
    type: "bar",
    orientation: "h",
    y: places,
    base: ranked.map((one) => interval(one)[0]),
    x: ranked.map((one) => 2 * Z95 * one.std),
    marker: { color: ranked.map((one) => faded(isBest(one) ? colours.orange : colours.blue, 0.35)) },
    width: 0.6,
    hoverinfo: "skip",
  };
  const dots = {
    type: "scatter",
    mode: "markers",
    x: ranked.map((one) => one.mean),
    y: places,
    customdata: ranked.map((one) => [plain(shortened(one.option, 60)), ...interval(one)]),
    marker: {
      size: 10,
      symbol: ranked.map((one) => `${isBaseline(one) ? "square" : "circle"}${one.safe === false ? "-open" : ""}`),
      color: ranked.map((one) => (isBest(one) ? colours.orange : colours.blue)),
    },
    hovertemplate: "%{customdata[0]}<br>expected %{x:.8~g}<br>95 %: %{customdata[1]:.8~g} to %{customdata[2]:.8~g}<extra></extra>",
  };
  function isBest(one) { return one.option === belief.best.option; }
  function isBaseline(one) { return one.option === belief.baseline?.option; }
  return {
    traces: [bars, dots],
    layout: {
      xaxis: { ...valueAxis(edges, false, belief.metric ?? "value"), range: padded([...edges, ...bounds]) },
      yaxis: { ...scale.axis, showgrid: false },
      shapes: bounds.map((bound) => ({ ...upright(bound, { orange: colours.danger }), line: { color: colours.danger, width: 2, dash: "dot" } })),
    },
    label: `Options, the best first: ${ranked.slice(-3).reverse().map((one) => one.option).join(", ")}.`,
    height: Math.max(260, 80 + 34 * ranked.length),
  };
}

/** The range of the values, with a margin. */
function padded(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [low - 0.04 * (high - low), high + 0.04 * (high - low)];
}

function slicesFigure(belief, { setup }, { isLog, isNarrow, limit }) {
  const colours = palette();
  const slices = belief.slices.slice(0, limit);
  const columns = isNarrow ? 1 : 2;
  const rows = Math.ceil(slices.length / columns);
  const traces = [];
  const layout = { grid: { rows, columns, pattern: "independent", xgap: 0.16, ygap: isNarrow ? 0.42 : 0.36 }, shapes: [] };
  slices.forEach((slice, i) => {
    const axis = i === 0 ? "" : String(i + 1);
    const scale = scaleOf(slice.parameter, setup.space[slice.parameter]);
    traces.push(...bandTraces(slice, scale, colours, axis, isLog));
    layout[`xaxis${axis}`] = { ...scale.axis };
    layout[`yaxis${axis}`] = {
      ...(i > 0 && { matches: "y" }),
      ...valueAxis(slice.mean, isLog, i % columns === 0 ? belief.metric ?? "value" : ""),
    };
    layout.shapes.push(
      ...unsafeShades(slice, scale, colours, axis),
      ...limitLines(belief.limits, colours, axis),
      ...(belief.baseline ? [upright(scale.place(belief.baseline.params[slice.parameter]), { orange: colours.faint }, axis)] : []),
      upright(scale.place(belief.best.params[slice.parameter]), colours, axis),
    );
  });
  return {
    traces,
    layout,
    label: `Slices through the best, one for each parameter: ${slices.map((slice) => slice.parameter).join(", ")}.`,
    height: 60 + 200 * rows,
  };
}
