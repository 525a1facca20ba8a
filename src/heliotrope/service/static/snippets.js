// Code that uses this study, with its own names, to copy.

import { pathOf } from "./api.js";
import { byId } from "./dom.js";

export function showSnippets(summary) {
  byId("curl").textContent = curl(summary);
  byId("python").textContent = python(summary);
}

function curl(summary) {
  const url = `${location.origin}${pathOf(summary.name)}`;
  const token = sessionStorage.getItem("heliotrope-token") ? ' -H "Authorization: Bearer $HELIOTROPE_TOKEN"' : "";
  const post = (verb, body) =>
    `curl -s ${quoted(`${url}/${verb}`)}${token} -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(body))}`;
  return [
    "# what to measure",
    post("ask", inContext(summary)),
    "# the result, with the id of that answer",
    post("tell", { id: `${summary.uid.slice(0, 12)}-0`, value: someResult(summary) }),
    "# a result measured elsewhere",
    post("add", { ...chosen(summary), value: someResult(summary), ...inContext(summary) }),
  ].join("\n");
}

function python(summary) {
  const { name, setup, context } = summary;
  const given = context ? `context=${literal(context)}` : "";
  const measured = setup.options ? "ask.option" : "**ask.params";
  const shown = Object.values(chosen(summary))[0];
  const token = sessionStorage.getItem("heliotrope-token") ? ', token="..."' : "";
  return [
    "import heliotrope as ht",
    "",
    `service = ht.connect(${literal(location.origin)}${token})`,
    `study = service.open(${literal(name)})`,
    `ask = study.ask(${given})`,
    `value = measure(${measured})  # such as ${literal(shown)}`,
    ...(setup.metrics ? [`# value: such as ${literal(someResult(summary))}`] : []),
    "study.tell(ask, value)",
    "print(study.best_params)",
  ].join("\n");
}

/** A value, or one for each metric. */
const someResult = ({ setup }) =>
  (setup.metrics ? Object.fromEntries(Object.keys(setup.metrics).map((name) => [name, 1.5])) : 1.5);

const inContext = ({ context }) => (context ? { context } : {});

/** A choice of this study: the best, an open ask, or some values. */
function chosen({ setup, best, open }) {
  const known = best ?? open[0];
  if (setup.options) return { option: known?.option ?? setup.options[0].name ?? setup.options[0] };
  return { params: known?.params ?? Object.fromEntries(Object.entries(setup.space).map(([name, one]) => [name, first(one)])) };
}

const first = ({ type, low, choices }) => (type === "boolean" ? false : choices?.[0] ?? low);

/** A text in single quotes, for a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A value as Python writes it. */
function literal(value) {
  if (value === true || value === false) return value ? "True" : "False";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`).join(", ")}}`;
}
