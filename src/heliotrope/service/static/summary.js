// A study in words: its description, its best, its drift.

import { byId, element } from "./dom.js";
import { interval, listed, number, percent, plural, value, within } from "./words.js";

export function showSummary(summary) {
  const { setup, drift, model } = summary;
  byId("about").textContent = aboutWords(summary);
  byId("best").replaceChildren(...bestParts(summary));
  byId("drift").textContent = [drift.words, summary.warning].filter(Boolean).join(" ");
  byId("drift-rate").textContent = rateWords(drift, setup.clock);
  byId("setup").textContent = JSON.stringify({ setup, model }, null, 2);
}

/** The bound of the regret so far; null for a study without one. */
export function showCertificate(certificate) {
  byId("certificate").closest(".card").hidden = !certificate;
  if (!certificate) return;
  const { bound, per_step: each, steps, probability, assumptions } = certificate;
  byId("certificate").textContent = `With a probability of ${percent(probability)} the regret of ${plural(steps, "ask")} ` +
    `is at most ${number(bound)}, ${number(each)} per ask.`;
  byId("certificate-assumes").textContent = `This assumes: ${assumptions.join(" ")}`;
}

function aboutWords({ setup, told, asked }) {
  const what = setup.options
    ? plural(setup.options.length, "option")
    : plural(Object.keys(setup.space).length, "parameter");
  const given = setup.context ? ` in contexts of ${Object.keys(setup.context).join(", ")}` : "";
  const aim = setup.direction === "minimize" ? "lowest" : "highest";
  return `${what}${given}, the ${aim} value is best · ${plural(told, "result")} of ${plural(asked, "ask")}`;
}

function bestParts({ best, told }) {
  if (!best) {
    const words = told ? "This policy has no belief." : "Unknown: there are no results yet.";
    return [element("p", { className: "faint" }, words)];
  }
  const chosen = best.params ?? { option: best.option };
  const shown = { ...chosen, "expected value": within(best.mean, best.std) };
  const pairs = Object.entries(shown).flatMap(
    ([key, given]) => [element("dt", {}, key), element("dd", {}, value(given))],
  );
  const where = best.context ? [`At ${listed(best.context)}.`] : [];
  const words = [...where, ...confidenceWords(best)].map((text) => element("p", { className: "faint" }, text));
  return [element("dl", {}, ...pairs), ...words];
}

/** The confidence in the best; with few results the spread of the values is unknown. */
function confidenceWords({ probability, margin, ...best }) {
  if (probability === null) return ["There are too few results for a confidence."];
  const rival = margin ? `nothing is better by more than ${number(margin)}` : "no other option is better";
  const [low, high] = interval(best).map((edge) => within(edge, best.std));
  return [`Probability of ${percent(probability)} that ${rival}.`, `95\u00a0% interval of the value: ${low} to ${high}.`];
}

function rateWords({ epsilon, interval: range }, clock) {
  if (epsilon === null) return "";
  const likely = range ? `, 95\u00a0% between ${range.map(number).join(" and ")}` : ", as given";
  const unit = (clock.unit ?? "step").replace(/^1\s*(?=[a-z])/, "");
  return `ε = ${number(epsilon)} per ${unit}${likely}`;
}
