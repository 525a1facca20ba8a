// Axes: numbers at their value, choices side by side.

import { plain, shortened } from "./charts.js";

/** The parameters that can take more than one value, by name. */
export function varying(space) {
  return Object.keys(space).filter((name) => {
    const { type, choices, low, high } = space[name];
    return type === "boolean" || (type === "categorical" ? choices.length > 1 : low < high);
  });
}

/** {place(value), axis, isDiscrete} of one parameter. */
export function scaleOf(name, parameter) {
  const title = { text: plain(shortened(name, 40)) };
  const choices = parameter.type === "boolean" ? [false, true] : parameter.choices;
  if (choices) return { isDiscrete: true, ...namedScale(choices.map(String), title) };
  const type = parameter.log ? "log" : "linear";
  const range = [parameter.low, parameter.high].map(type === "log" ? Math.log10 : Number);
  const isLong = type === "log" && range[1] - range[0] > 2; // ticks at the decades only
  return { isDiscrete: false, isLog: type === "log", place: (value) => value, axis: { title, type, range, ...(isLong && { dtick: 1 }) } };
}

/** Number format for values of this size: without an exponent unless very large or small. */
export function notation(values) {
  const largest = Math.max(...values.map(Math.abs));
  return largest >= 1e-3 && largest < 1e9 ? { exponentformat: "none", separatethousands: true } : {};
}

/** The axis of values. */
export const valueAxis = (values, isLog = false, text = "value") =>
  ({ title: { text }, type: isLog ? "log" : "linear", ...notation(values) });

/** The ends of an interval; on a log axis the lower end is positive. */
export const drawable = ([low, high], middle, isLog) => [isLog && low <= 0 ? Math.abs(middle) / 10 : low, high];

/** An axis with names at 0, 1, 2, ... */
export function namedScale(names, title, longest = 16) {
  const places = new Map(names.map((name, i) => [name, i]));
  return {
    place: (value) => places.get(String(value)),
    axis: {
      title,
      type: "linear",
      tickvals: names.map((_, i) => i),
      ticktext: names.map((name) => plain(shortened(name, longest))),
      range: [-0.6, names.length - 0.4],
    },
  };
}
