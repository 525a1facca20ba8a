// What a study of a running system adds to the pictures: limits, unsafe regions, the baseline, trade-offs.

import { faded, palette, plain, shortened } from "./charts.js";
import { notation } from "./scales.js";
import { Z95, choice, interval, number } from "./words.js";

const SIDES = { below: "below", at_most: "at most", above: "above", at_least: "at least" };

/** The metrics of a study that has names for them, or null. */
export function metricNames({ metrics }) {
  const names = Object.keys(metrics ?? {});
  return names.length > 1 ? names : null;
}

/** "p99 below 200" */
export const limitWords = (metric, { side, bound }) => `${metric} ${SIDES[side]} ${number(bound)}`;

/** Lines of limits over values on the axis `y`, over its whole width. */
export function limitLines(limits, colours, axis = "") {
  return (limits ?? []).map(({ bound }) => ({
    type: "line", xref: `x${axis} domain`, x0: 0, x1: 1, yref: `y${axis}`, y0: bound, y1: bound,
    line: { color: colours.danger, width: 2, dash: "dot" },
  }));
}

/** Names of the limits beside their lines. */
export function limitNotes(limits, colours, axis = "") {
  return (limits ?? []).map(({ side, bound }) => ({
    text: `limit: ${SIDES[side]} ${number(bound)}`, showarrow: false, font: { color: colours.danger, size: 11 },
    xref: `x${axis} domain`, x: 1, xanchor: "right", yref: `y${axis}`, y: bound,
    yanchor: ["below", "at_most"].includes(side) ? "bottom" : "top",
  }));
}

/** Shades behind the values of one parameter that are not known to be safe. */
export function unsafeShades({ values, safe }, scale, colours, axis = "") {
  if (!safe) return [];
  const at = values.map(scale.place);
  const middle = (i, j) => (scale.isLog ? Math.sqrt(at[i] * at[j]) : (at[i] + at[j]) / 2);
  const left = (i) => (i === 0 ? edgeOf(scale, at, 0) : middle(i - 1, i));
  const right = (i) => (i === at.length - 1 ? edgeOf(scale, at, i) : middle(i, i + 1));
  return runsOf(safe).map(([first, last]) => ({
    type: "rect", layer: "below", xref: `x${axis}`, yref: `y${axis} domain`, y0: 0, y1: 1,
    x0: left(first), x1: right(last), fillcolor: faded(colours.danger, 0.13), line: { width: 0 },
  }));
}

/** The end of an axis: half a step beyond a named place, else the value itself. */
const edgeOf = (scale, at, i) => at[i] + (scale.isDiscrete ? (i === 0 ? -0.5 : 0.5) : 0);

/** The first and last number of each run of unsafe values. */
function runsOf(safe) {
  const runs = [];
  safe.forEach((isSafe, i) => {
    if (isSafe) return;
    if (i > 0 && !safe[i - 1]) runs.at(-1)[1] = i;
    else runs.push([i, i]);
  });
  return runs;
}

/** A veil over the cells of a map that are not known to be safe. */
export function unsafeVeil({ safe }, heat, colours) {
  if (!safe) return [];
  const veil = safe.map((row) => row.map((isSafe) => (isSafe ? null : 1)));
  const colour = faded(colours.veil, 0.62);
  return [{
    type: "heatmap", x: heat.x, y: heat.y, z: veil, zsmooth: false, showscale: false,
    colorscale: [[0, colour], [1, colour]], zmin: 0, zmax: 1, hoverinfo: "skip",
  }];
}

/** The estimated value of the baseline over time, with its 95 % band. */
export function baselineTraces(best, clock, colours) {
  const known = best.filter((one) => one.baseline);
  if (!known.length) return [];
  const x = known.map((one) => clock.at(one.t));
  const bands = known.map((one) => interval(one.baseline));
  const edge = { type: "scatter", mode: "lines", x, line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  return [
    { ...edge, y: bands.map(([low]) => low) },
    { ...edge, y: bands.map(([, high]) => high), fill: "tonexty", fillcolor: faded(colours.faint, 0.2) },
    {
      type: "scatter", mode: "lines", name: "baseline, 95 %", x, y: known.map((one) => one.baseline.mean),
      line: { color: colours.faint, width: 2, dash: "dash" }, hovertemplate: "baseline %{y:.8~g}<extra></extra>",
    },
  ];
}

/** The best trade-offs between the first two objectives; a third one gives the colour. */
export function frontFigure({ objectives, choices }) {
  const colours = palette();
  const [a, b, third] = objectives;
  const of = (name, key) => choices.map((one) => one.metrics[name][key]);
  const bars = (name) => ({
    type: "data", array: of(name, "std").map((std) => Z95 * std), color: faded(colours.blue, 0.45), thickness: 1.5,
  });
  const dots = {
    type: "scatter",
    mode: "markers",
    x: of(a, "mean"),
    y: of(b, "mean"),
    error_x: bars(a),
    error_y: bars(b),
    customdata: choices.map((one) => [plain(shortened(choice(one), 80)), third ? one.metrics[third].mean : ""]),
    marker: third
      ? { size: 10, color: of(third, "mean"), colorscale: "Cividis", colorbar: { thickness: 12, title: { text: plain(third), side: "right" } } }
      : { size: 10, color: colours.orange },
    hovertemplate: `%{customdata[0]}<br>${plain(a)} %{x:.6~g}<br>${plain(b)} %{y:.6~g}` +
      `${third ? `<br>${plain(third)} %{customdata[1]:.6~g}` : ""}<extra></extra>`,
  };
  const axis = (name) => ({ title: { text: plain(shortened(name, 40)) }, ...notation(of(name, "mean")) });
  return {
    traces: [dots],
    layout: { xaxis: axis(a), yaxis: axis(b) },
    label: `${choices.length} best trade-offs between ${objectives.join(", ")}.`,
  };
}
