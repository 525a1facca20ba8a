// The list of studies, and the form that creates one.

import { call, get } from "./api.js";
import { byId, element } from "./dom.js";
import { guarded, showError, showState } from "./messages.js";
import { paced } from "./refresh.js";
import { ago } from "./words.js";

const EVERY = 5_000; // ms between updates of the list
const EXAMPLES = {
  space: `{
  "temperature": {"type": "real", "low": 15, "high": 25},
  "fan": {"type": "integer", "low": 1, "high": 8}
}`,
  options: '["hall", "roof", "cellar"]',
};
const PROMPTS = { space: "Parameters, as JSON", options: "Options, as JSON" };

let pages = 1;
const form = byId("create");
const pageOf = (name) => `/studies/${encodeURIComponent(name)}`;

async function load() {
  const studies = [];
  let next = "";
  for (let page = 0; page < pages && next !== null; page += 1) {
    const answer = await get(`/api/studies?after=${encodeURIComponent(next)}`);
    studies.push(...answer.studies);
    next = answer.next;
  }
  return { studies, isMore: next !== null };
}

function show({ studies, isMore }) {
  byId("empty").hidden = studies.length > 0;
  byId("studies").hidden = studies.length === 0;
  byId("more").hidden = !isMore;
  const focused = document.activeElement?.getAttribute("href");
  const rows = studies.map(({ name, events, updated }) => element("tr", {},
    element("td", {}, element("a", { href: pageOf(name) }, name)),
    element("td", {}, String(events)),
    element("td", {}, ago(updated))));
  byId("studies").tBodies[0].replaceChildren(...rows);
  if (focused) rows.map((row) => row.querySelector("a")).find((a) => a.getAttribute("href") === focused)?.focus();
}

const refresh = paced(async () => {
  try {
    show(await load());
    showState("live");
  } catch (error) {
    showState("reconnecting");
    if (error.status) showError(error);
  }
});

/** The JSON in a field; an error names the field. */
function parsed(field, what) {
  try {
    return JSON.parse(field.value);
  } catch (error) {
    throw Object.assign(new Error(`${what} is not JSON: ${error.message}`), { field: field.name });
  }
}

function described() {
  const { name, kind, described, context, direction, clock, policy } = form.elements;
  return {
    name: name.value,
    [kind.value]: parsed(described, PROMPTS[kind.value].split(",")[0]),
    ...(context.value.trim() && { context: parsed(context, "The context") }),
    direction: direction.value,
    clock: clock.value ? { kind: "wall", unit: clock.value } : { kind: "steps" },
    ...(policy.value.trim() && { policy: parsed(policy, "The policy") }),
  };
}

/** Mark the field of an error. */
function mark(where) {
  const first = where.split(".")[0];
  const field = form.elements[["space", "options"].includes(first) ? "described" : first];
  for (const one of form.elements) one.removeAttribute("aria-invalid");
  if (!field?.setAttribute) return;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

async function create() {
  try {
    const { name } = await call("POST", "/api/studies", described());
    location.assign(pageOf(name));
  } catch (error) {
    mark(error.field ?? "");
    throw error;
  }
}

function showExample() {
  const { kind, described } = form.elements;
  if (["", ...Object.values(EXAMPLES)].includes(described.value)) described.value = EXAMPLES[kind.value];
  byId("described").textContent = PROMPTS[kind.value];
}

form.addEventListener("submit", guarded(create));
for (const radio of form.elements.kind) radio.addEventListener("change", showExample);
byId("more").addEventListener("click", () => { pages += 1; refresh(); });
byId("demo").addEventListener("click", guarded(async () => {
  const { name } = await call("POST", "/api/demo", {});
  location.assign(pageOf(name));
}));
showExample();
showState("connecting");
refresh();
setInterval(() => refresh(), EVERY);
