// The context on show, which asks use: conditions that are given, not chosen.

import { byId, element } from "./dom.js";

const NEAR = 0.15; // share of a range within which contexts are similar
const NOTCHES = 100; // steps of a slider

/** Control the panel; `onMove(context)` shows a context, `onMove(null)` that of the latest ask. */
export function contextPanel(onMove) {
  let controls = null;
  const move = () => {
    const values = controls.map(({ name, read }) => [name, read()]);
    if (values.every(([, value]) => value !== undefined)) onMove(Object.fromEntries(values));
  };
  byId("latest-context").addEventListener("click", () => onMove(null));

  /** Show the context of a study; it follows the asks unless the user has chosen another one. */
  return (space, context, isFollowing) => {
    byId("context").hidden = !space;
    if (!space) return;
    if (!controls) {
      controls = Object.entries(space).map(([name, parameter]) => ({ name, ...control(name, parameter, move) }));
      byId("context-controls").replaceChildren(...controls.map((one) => one.made));
    }
    for (const { name, show } of controls) show(context[name]);
    byId("latest-context").disabled = isFollowing;
  };
}

/** {made, show(value), read()} of one parameter; read() is undefined for an invalid value. */
function control(name, parameter, onChange) {
  const choices = parameter.type === "boolean" ? [false, true] : parameter.choices;
  return choices ? selection(name, choices, onChange) : range(name, parameter, onChange);
}

function selection(name, choices, onChange) {
  const field = element("select", { onchange: onChange }, ...choices.map((choice) => element("option", {}, String(choice))));
  return {
    made: element("label", {}, name, field),
    show: (value) => { field.selectedIndex = choices.indexOf(value); },
    read: () => choices[field.selectedIndex],
  };
}

/** A slider, and a field for values between its steps. */
function range(name, parameter, onChange) {
  const { low, high } = parameter;
  const disabled = low === high;
  const step = parameter.step ?? "any";
  const field = element("input", { type: "number", step, min: low, max: high, required: true, disabled });
  const slider = element("input", {
    type: "range", min: 0, max: 1, step: notch(parameter), disabled, "aria-label": `${name}, as a slider`,
  });
  field.addEventListener("input", () => {
    if (!field.validity.valid) return;
    slider.value = share(field.valueAsNumber, parameter);
    onChange();
  });
  slider.addEventListener("input", () => {
    field.value = valueAt(slider.valueAsNumber, parameter);
    onChange();
  });
  return {
    made: element("div", {}, element("label", {}, name, field), slider),
    show: (value) => {
      if (document.activeElement !== field) field.value = value;
      if (document.activeElement !== slider) slider.value = share(value, parameter);
    },
    read: () => (field.validity.valid ? field.valueAsNumber : undefined),
  };
}

function notch({ low, high, step, log }) {
  return step && !log && low < high ? step / (high - low) : 1 / NOTCHES;
}

/** Position of a number in its range, on its scale. */
function share(value, { low, high, log }) {
  if (low === high) return 0;
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** The number at a position in its range, with the digits of a slider step. */
function valueAt(at, { type, low, high, step, log }) {
  const exact = log ? low * (high / low) ** at : low + at * (high - low);
  if (type === "integer") return low + step * Math.round((exact - low) / step);
  if (step) return Number((low + step * Math.round((exact - low) / step)).toPrecision(12));
  if (log) return clamped(Number(exact.toPrecision(3)), low, high);
  const digits = Math.max(0, Math.ceil(-Math.log10((high - low) / NOTCHES)));
  return clamped(Number(exact.toFixed(Math.min(digits, 100))), low, high);
}

const clamped = (value, low, high) => Math.min(Math.max(value, low), high);

/** Similarity of two contexts: 1 if equal, towards 0 if far apart. */
export function nearness(one, other, space) {
  if (!space) return 1;
  const squares = Object.entries(space).map(([name, parameter]) => apart(one[name], other[name], parameter) ** 2);
  return Math.exp(-squares.reduce((sum, square) => sum + square, 0) / (2 * NEAR ** 2));
}

function apart(one, other, parameter) {
  if (parameter.low === undefined) return one === other ? 0 : 1;
  return share(one, parameter) - share(other, parameter);
}
