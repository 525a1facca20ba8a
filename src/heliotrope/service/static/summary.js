// A study in words: its description, its best, its drift.

import { byId, element } from "./dom.js";
import { Z95, choice, interval, listed, number, percent, plural, value, within } from "./words.js";

export function showSummary(summary) {
  const { setup, drift, model } = summary;
  byId("about").textContent = aboutWords(summary);
  byId("best").replaceChildren(...bestParts(summary));
  showGain(summary);
  byId("drift").textContent = [drift.words, summary.warning].filter(Boolean).join(" ");
  byId("drift-rate").textContent = rateWords(drift, setup);
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

/** The gain over the baseline; nothing for a study without one. */
function showGain({ gain, baseline }) {
  byId("gain").closest(".card").hidden = !baseline;
  if (!baseline) return;
  byId("gain").textContent = gain ? gain.words : "Unknown: the baseline has no result yet.";
  const value = baseline.mean === undefined ? "" : `: ${within(baseline.mean, baseline.std)} ± ${number(Z95 * baseline.std)}`;
  byId("baseline").textContent = `The baseline is ${choice(baseline)}${value}.`;
}

function aboutWords({ setup, told, asked }) {
  const what = setup.options
    ? plural(setup.options.length, "option")
    : plural(Object.keys(setup.space).length, "parameter");
  const given = setup.context ? ` in contexts of ${Object.keys(setup.context).join(", ")}` : "";
  return `${what}${given}, ${aimWords(setup)} · ${plural(told, "result")} of ${plural(asked, "ask")}`;
}

/** "the highest value is best", or the aims of the metrics and their limits. */
function aimWords({ direction, metrics, objective, limits }) {
  if (!metrics) return `the ${direction === "minimize" ? "lowest" : "highest"} value is best`;
  const aims = objective
    ? [`the highest ${Object.entries(objective).map(([name, weight]) => `${number(weight)} × ${name}`).join(" + ")} is best`]
    : Object.entries(metrics).filter(([, aim]) => aim !== "watch").map(([name, aim]) => `${aim} ${name}`);
  const kept = Object.entries(limits ?? {}).flatMap(
    ([name, sides]) => Object.entries(sides).map(([side, bound]) => `${name} ${side.replace("_", " ")} ${bound}`),
  );
  return [...aims, ...kept].join(", ");
}

function bestParts(summary) {
  const { best, told, setup } = summary;
  if (!best) {
    const untold = "Unknown: there are no results yet.";
    const words = setup.metrics ? "Unknown: nothing is known to keep all limits." : "This policy has no belief.";
    return [element("p", { className: "faint" }, told ? words : untold)];
  }
  const chosen = best.params ?? { option: best.option };
  const expected = best.metrics
    ? Object.fromEntries(Object.entries(best.metrics).map(([name, { mean, std }]) => [`expected ${name}`, within(mean, std)]))
    : { "expected value": within(best.mean, best.std) };
  const shown = { ...chosen, ...expected };
  const pairs = Object.entries(shown).flatMap(
    ([key, given]) => [element("dt", {}, key), element("dd", {}, value(given))],
  );
  const where = best.context ? [`At ${listed(best.context)}.`] : [];
  const words = [...where, ...confidenceWords(best, summary)].map((text) => element("p", { className: "faint" }, text));
  return [element("dl", {}, ...pairs), ...words];
}

/** The confidence in the best, if anything is known to keep all limits and the spread of the values is known. */
function confidenceWords({ probability, margin, ...best }, { lead, front }) {
  if (front) return [`This is the best by ${lead} alone. The trade-offs are below.`];
  if (best.safe === false) return ["Nothing is known to keep all limits now."];
  if (probability === null) return ["There are too few results for a confidence."];
  const rival = margin ? `nothing is better by more than ${number(margin)}` : "no other option is better";
  const [low, high] = interval(best).map((edge) => within(edge, best.std));
  return [`Probability of ${percent(probability)} that ${rival}.`, `95\u00a0% interval of the value: ${low} to ${high}.`];
}

function rateWords({ epsilon }, { clock, policy }) {
  if (epsilon === null) return "";
  const source = "epsilon" in policy ? ", as given" : ", as learned";
  const unit = (clock.unit ?? "step").replace(/^1\s*(?=[a-z])/, "");
  return `ε = ${number(epsilon)} per ${unit}${source}`;
}
