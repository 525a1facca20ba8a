// A study in words: what it is, its best, its drift.

import { byId, element } from "./dom.js";
import { interval, number, plural, value } from "./words.js";

export function showSummary(summary) {
  const { setup, drift, model } = summary;
  byId("about").textContent = aboutWords(summary);
  byId("best").replaceChildren(...bestParts(summary));
  byId("drift").textContent = drift.words;
  byId("drift-rate").textContent = rateWords(drift, setup.clock);
  byId("setup").textContent = JSON.stringify({ setup, model }, null, 2);
}

function aboutWords({ setup, told, asked }) {
  const what = setup.options
    ? plural(setup.options.length, "option")
    : plural(Object.keys(setup.space).length, "parameter");
  const aim = setup.direction === "minimize" ? "lowest" : "highest";
  return `${what}, the ${aim} value is best · ${plural(told, "result")} of ${plural(asked, "ask")}`;
}

function bestParts({ best, told }) {
  if (!best) {
    const words = told ? "This policy does not say." : "Not known yet: nothing was told.";
    return [element("p", { className: "faint" }, words)];
  }
  const chosen = best.params ?? { option: best.option };
  const shown = { ...chosen, "believed value": best.mean };
  const pairs = Object.entries(shown).flatMap(
    ([key, given]) => [element("dt", {}, key), element("dd", {}, value(given))],
  );
  const [low, high] = interval(best).map(number);
  return [
    element("dl", {}, ...pairs),
    element("p", { className: "faint" }, `Sure to 95 % that it lies between ${low} and ${high}.`),
  ];
}

function rateWords({ epsilon, interval: range }, clock) {
  if (epsilon === null) return "";
  const likely = range ? `, 95 % between ${range.map(number).join(" and ")}` : ", as given";
  return `ε = ${number(epsilon)} per ${clock.unit ?? "step"}${likely}`;
}
