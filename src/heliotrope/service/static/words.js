// Numbers, times and choices as people read them.

const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const CLOCK = {
  month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
};
const UNIT_SECONDS = { s: 1, sec: 1, m: 60, min: 60, h: 3600, hour: 3600, d: 86400, day: 86400, week: 604800 };

export const Z95 = 1.96; // standard deviations of a 95 % interval

/** A number of some digits; from 1e15 on with an exponent. */
const short = (value, digits) => {
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) < 1e15 ? String(rounded) : rounded.toExponential();
};

export const number = (value) => short(value, 4);

/** A number with the digits that its error leaves: 1000004.5 for an error of 0.3. */
export function within(value, error) {
  const digits = Math.ceil(Math.log10(Math.abs(value) / error)) + 2;
  return short(value, Math.min(Math.max(digits || 4, 2), 15));
}

export const value = (given) => (typeof given === "number" ? number(given) : String(given));

/** "fan 3, heat 21.5" */
export const listed = (values) =>
  Object.entries(values).map(([name, given]) => `${name} ${value(given)}`).join(", ");

/** "fan 3, heat 21.5", or the option's name. */
export const choice = (one) => (one.params === undefined ? one.option : listed(one.params));

/** The same, with its context. */
export const choiceInContext = (one) => choice(one) + (one.context ? ` (at ${listed(one.context)})` : "");

export const interval = ({ mean, std }) => [mean - Z95 * std, mean + Z95 * std];

/** "83 %"; a sampled probability is never 0 or 1. */
export function percent(share) {
  const rounded = Math.round(100 * share);
  if (rounded >= 100) return "over 99\u00a0%";
  return rounded < 1 ? "under 1\u00a0%" : `${rounded}\u00a0%`;
}

export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export function ago(seconds, now = Date.now() / 1000) {
  const past = Math.max(0, now - seconds);
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (past >= length) return AGO.format(-Math.floor(past / length), unit);
  }
  return AGO.format(-Math.floor(past), "second");
}

/** "14:05:00" of a wall time in seconds. */
export const timeOfDay = (seconds) =>
  new Date(1000 * seconds).toLocaleTimeString("en", { hourCycle: "h23" });

/** How a study counts time, in steps or in a unit of the clock since it was created.
 *
 * {axis: of a chart, step: of a slider, shortest: of a replay, at(t): place on the axis, label(t): in words}
 */
export function clockOf({ setup, created }) {
  if (setup.clock.kind === "steps") {
    const axis = { title: { text: "step" } };
    return { axis, step: 1, shortest: 1, at: (t) => t, label: (t) => `step ${number(t)}` };
  }
  const [, count, unit] = /^\s*([\d.]+)?\s*([a-z]+?)s?\s*$/.exec(setup.clock.unit);
  const seconds = Number(count ?? 1) * UNIT_SECONDS[unit];
  const at = (t) => new Date(1000 * (created + t * seconds));
  const axis = { title: { text: "time" }, nticks: 4, tickangle: 0 };
  return { axis, step: "any", shortest: 0, at, label: (t) => at(t).toLocaleString("en", CLOCK) };
}
