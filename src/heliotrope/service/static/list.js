// The list of studies, and the form that creates one.

import { call, get, pathOf } from "./api.js";
import { shortened } from "./charts.js";
import { byId, element } from "./dom.js";
import { guarded, showError, showState } from "./messages.js";
import { parameterRows } from "./parameters.js";
import { paced } from "./refresh.js";
import { ago, choice, within } from "./words.js";

const EVERY = 5_000; // ms between updates of the list
const AT_ONCE = 20; // summaries fetched in one update
const EXAMPLE = `{
  "temperature": {"type": "real", "low": 15, "high": 25},
  "fan": {"type": "integer", "low": 1, "high": 8}
}`;

const known = new Map(); // summaries by name, with the number of events that they rest on
let pages = 1;
const form = byId("create");
const pageFor = (name) => `/studies/${encodeURIComponent(name)}`;

async function load() {
  const studies = [];
  let next = "";
  for (let page = 0; page < pages && next !== null; page += 1) {
    const query = new URLSearchParams({ after: next, contains: byId("search").value.trim() });
    const answer = await get(`/api/studies?${query}`);
    studies.push(...answer.studies);
    next = answer.next;
  }
  return { studies, isMore: next !== null };
}

/** Fetch summaries of studies that changed, a few at a time. */
async function loadSummaries(studies) {
  const stale = studies.filter(({ name, events }) => known.get(name)?.events !== events).slice(0, AT_ONCE);
  await Promise.all(stale.map(async ({ name, events }) => {
    const summary = await get(pathOf(name)).catch(() => null); // deleted meanwhile
    known.set(name, { events, summary });
  }));
}

function show({ studies, isMore }) {
  const isSearch = byId("search").value.trim() !== "";
  byId("empty").hidden = studies.length > 0 || isSearch;
  byId("no-match").hidden = studies.length > 0 || !isSearch;
  byId("studies").hidden = studies.length === 0;
  byId("more").hidden = !isMore;
  const focused = document.activeElement?.getAttribute("href");
  const rows = studies.map(row);
  byId("studies").tBodies[0].replaceChildren(...rows);
  if (focused) rows.map((one) => one.querySelector("a")).find((a) => a.getAttribute("href") === focused)?.focus();
}

function row({ name, updated }) {
  const summary = known.get(name)?.summary;
  const aim = { maximize: "highest", minimize: "lowest" }[summary?.setup.direction] ?? "";
  return element("tr", {},
    element("td", {}, element("a", { href: pageFor(name) }, name)),
    element("td", {}, summary ? summary.told.toLocaleString("en") : ""),
    element("td", {}, ...bestCell(summary?.best)),
    element("td", { className: "spare" }, aim),
    element("td", {}, ago(updated)));
}

function bestCell(best) {
  if (!best) return [];
  const what = element("span", { className: "faint" }, shortened(choice(best), 36));
  return [element("strong", {}, within(best.mean, best.std)), element("br"), what];
}

const refresh = paced(async () => {
  try {
    const found = await load();
    show(found);
    showState("live");
    await loadSummaries(found.studies);
    show(found);
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
  const { name, direction, clock } = form.elements;
  return {
    name: name.value,
    ...chosen(),
    direction: direction.value,
    clock: clock.value ? { kind: "wall", unit: clock.value } : { kind: "steps" },
  };
}

/** The space or the options, the context and the policy. */
function chosen() {
  const { kind, options, described, context, policy } = form.elements;
  if (kind.value === "json") {
    const given = parsed(described, "The description");
    return {
      [Array.isArray(given) ? "options" : "space"]: given,
      ...(context.value.trim() && { context: parsed(context, "The context") }),
      ...(policy.value.trim() && { policy: parsed(policy, "The policy") }),
    };
  }
  const conditions = contextRows.read();
  const names = options.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    ...(kind.value === "options" ? { options: names } : { space: spaceRows.read() ?? {} }),
    ...(conditions && { context: conditions }),
  };
}

/** Mark the field of an error. */
function mark(where) {
  const first = where.split(".")[0];
  const isJson = form.elements.kind.value === "json";
  const inRows = [...form.elements].find((one) => one.dataset.field === where);
  const whole = isJson && ["space", "options"].includes(first) ? "described" : first;
  const field = inRows ?? form.elements[whole];
  for (const one of form.elements) one.removeAttribute("aria-invalid");
  if (!field?.setAttribute) return;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

async function create() {
  try {
    const { name } = await call("POST", "/api/studies", described());
    location.assign(pageFor(name));
  } catch (error) {
    mark(error.field ?? "");
    throw error;
  }
}

/** Show the fields of the chosen kind. */
function showKind() {
  for (const part of form.querySelectorAll("[data-kind]")) {
    part.hidden = !part.dataset.kind.split(" ").includes(form.elements.kind.value);
  }
}

const spaceRows = parameterRows(byId("space-rows"), "space");
const contextRows = parameterRows(byId("context-rows"), "context");
spaceRows.add({ name: "temperature", low: 15, high: 25 });
spaceRows.add({ name: "fan", type: "integer", low: 1, high: 8 });
byId("add-parameter").addEventListener("click", () => spaceRows.add().focus());
byId("add-context").addEventListener("click", () => contextRows.add().focus());
form.elements.described.value = EXAMPLE;

form.addEventListener("submit", guarded(create));
for (const radio of form.elements.kind) radio.addEventListener("change", showKind);
byId("more").addEventListener("click", () => { pages += 1; refresh(); });
byId("demo").addEventListener("click", guarded(async () => {
  const { name } = await call("POST", "/api/demo", {});
  location.assign(pageFor(name));
}));
byId("search").addEventListener("input", () => { pages = 1; refresh(true); });
showKind();
showState("connecting");
refresh();
setInterval(() => refresh(), EVERY);
