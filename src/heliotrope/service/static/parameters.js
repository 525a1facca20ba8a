// Rows of a form that describe parameters: a name, a type, and the fields of that type.

import { button, element } from "./dom.js";

const TYPES = { real: "number", integer: "whole number", categorical: "choice", boolean: "yes or no" };
const NUMBERS = ["real", "integer"];

/** Rows in a container, for the parameters of `outer` ("space" or "context"): {add(name), read()}. */
export function parameterRows(container, outer) {
  const rows = new Set();

  function add(given = {}) {
    const row = parameterRow(outer, given, () => { rows.delete(row); row.made.remove(); });
    rows.add(row);
    container.append(row.made);
    return row;
  }

  /** The parameters by name, or null without rows. */
  function read() {
    const found = [...rows].map((row) => row.read());
    const twice = found.find(([name], i) => found.findIndex(([other]) => other === name) !== i);
    if (twice) throw new Error(`Two parameters have the name ${twice[0]}.`);
    return found.length ? Object.fromEntries(found) : null;
  }

  return { add, read };
}

function parameterRow(outer, { name = "", type = "real", low = "", high = "" }, onRemove) {
  const field = (key, label, properties = {}) => {
    const input = element("input", { autocomplete: "off", ...properties });
    return { key, input, made: element("label", {}, label, input) };
  };
  const numeric = { type: "number", step: "any" };
  const named = field("name", "Name", { value: name, maxLength: 100 });
  const kind = element("select", {}, ...Object.entries(TYPES).map(
    ([value, words]) => element("option", { value, selected: value === type }, words),
  ));
  const ends = [field("low", "From", { ...numeric, value: low }), field("high", "To", { ...numeric, value: high })];
  const step = field("step", "Step (optional)", numeric);
  const log = field("log", "Log scale", { type: "checkbox" });
  const choices = field("choices", "Choices, separated by commas", { placeholder: "eco, boost" });
  log.made.className = "inline";
  const fields = [named, ...ends, step, log, choices];

  const showFields = () => {
    const isNumber = NUMBERS.includes(kind.value);
    for (const one of [...ends, step, log]) one.made.hidden = !isNumber;
    choices.made.hidden = kind.value !== "categorical";
  };
  kind.addEventListener("change", showFields);
  showFields();

  function read() {
    const label = named.input.value.trim();
    for (const { key, input } of fields) input.dataset.field = `${outer}.${label}.${key}`;
    if (!label) throw fault(named.input, "A parameter needs a name.");
    if (kind.value === "categorical") return [label, { type: kind.value, choices: texts(choices.input, label) }];
    if (!NUMBERS.includes(kind.value)) return [label, { type: kind.value }];
    const [from, to] = ends.map(({ key, input }) => numberIn(input, `${label} needs a number as its ${key} end.`));
    const numbers = { type: kind.value, low: from, high: to, log: log.input.checked };
    return [label, step.input.value ? { ...numbers, step: step.input.valueAsNumber } : numbers];
  }

  const remove = button("Remove", onRemove, { className: "quiet", "aria-label": "Remove this parameter" });
  const typed = element("label", {}, "Type", kind);
  const made = element("div", { className: "parameter" },
    named.made, typed, ...[...ends, step, log, choices].map((one) => one.made), remove);
  return { made, read, focus: () => named.input.focus() };
}

const fault = (input, words) => Object.assign(new Error(words), { field: input.dataset.field });

function numberIn(input, words) {
  if (!Number.isFinite(input.valueAsNumber)) throw fault(input, words);
  return input.valueAsNumber;
}

function texts(input, name) {
  const found = input.value.split(",").map((text) => text.trim()).filter(Boolean);
  if (!found.length) throw fault(input, `${name} needs choices, separated by commas.`);
  return found;
}
