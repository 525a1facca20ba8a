// The open evaluations, to tell or cancel by hand. Existing rows are kept, so that typing is not disturbed.

import { call, pathOf } from "./api.js";
import { button, byId, element } from "./dom.js";
import { guarded } from "./messages.js";
import { choice, listed, plural, timeOfDay } from "./words.js";

const SHOWN = 20;
const REASONS = {
  first: "first look", explore: "exploring", best: "the best now", baseline: "the baseline again",
  boundary: "looking at a limit", fallback: "the safest known",
};

/** A function that shows the open evaluations of a study. */
export function askList(name, onChange) {
  const rows = new Map();
  return (asks, clock, metrics) => {
    const shown = asks.slice(0, SHOWN);
    const ids = new Set(shown.map((ask) => ask.id));
    for (const [id, row] of rows) {
      if (!ids.has(id)) { row.remove(); rows.delete(id); }
    }
    for (const ask of shown) {
      if (!rows.has(ask.id)) {
        rows.set(ask.id, askRow(name, ask, { clock, metrics }, onChange));
        byId("asks").append(rows.get(ask.id));
      }
      rows.get(ask.id).querySelector(".lease").textContent = lease(ask); // a heartbeat prolongs it
    }
    byId("no-asks").hidden = asks.length > 0;
    byId("more-asks").hidden = asks.length <= SHOWN;
    byId("more-asks").textContent = `And ${plural(asks.length - SHOWN, "more open ask")}.`;
  };
}

/** " · expires at 14:05:00", or nothing without a lease. */
function lease({ until }) {
  return until === undefined ? "" : ` · expires at ${timeOfDay(until)}`;
}

/** The fields of a result: one for the value, or one for each metric, of which some may be empty. */
function resultFields(what, metrics) {
  const field = (label, placeholder, required) => element("input", {
    type: "number", step: "any", required, placeholder, "aria-label": label,
  });
  if (!metrics) {
    const only = field(`Value measured at ${what}`, "value", true);
    return { fields: [only], read: () => only.valueAsNumber };
  }
  const named = metrics.map((metric) => [metric, field(`${metric} measured at ${what}`, metric, false)]);
  return {
    fields: named.map(([, one]) => one),
    read: () => Object.fromEntries(named.filter(([, one]) => one.value).map(([metric, one]) => [metric, one.valueAsNumber])),
  };
}

function askRow(name, ask, { clock, metrics }, onChange) {
  const what = choice(ask);
  const when = clock.label(ask.t) + (ask.context ? ` · ${listed(ask.context)}` : "");
  const { fields, read } = resultFields(what, metrics);
  const tell = async () => {
    await call("POST", `${pathOf(name)}/tell`, { id: ask.id, value: read() });
    byId("ask").focus(); // the row with the focus disappears
    onChange();
  };
  const cancel = async () => {
    await call("POST", `${pathOf(name)}/cancel`, { id: ask.id });
    onChange();
  };
  const prolong = async () => {
    await call("POST", `${pathOf(name)}/heartbeat`, { id: ask.id });
    onChange();
  };
  const form = element("form", { onsubmit: guarded(tell) }, ...fields,
    element("button", { className: "primary" }, "Tell"), button("Cancel", guarded(cancel)),
    ...(ask.until === undefined ? [] : [button("Prolong", guarded(prolong))]));
  const about = element("div", { className: "faint" }, when, element("span", { className: "lease" }));
  const why = ask.reason ? [" ", element("span", { className: "tag" }, REASONS[ask.reason] ?? ask.reason)] : [];
  return element("li", { "data-ask": ask.id }, element("div", {}, what, ...why), about, form);
}
