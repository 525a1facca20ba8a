// The page of a study: it loads the study, shows it, and follows its events.

import { call, get, pathOf, request } from "./api.js";
import { askList } from "./asks.js";
import { beliefFigure, beliefWords } from "./belief.js";
import { draw, drawNothing, savePicture } from "./charts.js";
import { contextPanel } from "./contexts.js";
import { button, byId, element, saveFile } from "./dom.js";
import { follow } from "./events.js";
import { guarded, showError, showState } from "./messages.js";
import { frontFigure, metricNames } from "./live.js";
import { movesFigure, ofMetric, rewardsFigure } from "./past.js";
import { paced } from "./refresh.js";
import { timeSlider } from "./replay.js";
import { varying } from "./scales.js";
import { showSnippets } from "./snippets.js";
import { showCertificate, showSummary } from "./summary.js";
import { clockOf } from "./words.js";
import { mayAsk, noteEvent, noteMine } from "./workers.js";

const FEW = 8; // parameters drawn by default
const TICK = 20_000; // ms between updates of a study with a wall clock
const UNTOLD = "There are no results yet.";
const NO_BELIEF = "This policy has no belief.";
const narrow = matchMedia("(max-width: 40rem)");
const name = decodeURIComponent(location.pathname.split("/")[2]);
const api = pathOf(name);

const study = { summary: null, belief: null, track: { results: [], best: [] }, first: null };
const look = { isDeviation: false, isLog: false, limit: FEW, isNarrow: narrow.matches, metric: undefined };
let at = null; // the past time on show, null for now
let given = null; // the context on show, null for that of the latest ask
let moving = new AbortController();

// ---- loading

/** Query the study in the context on show, at a time. */
function lookAt(path, t, signal) {
  const query = new URLSearchParams({
    ...(t !== null && { t }),
    ...(given && { context: JSON.stringify(given) }),
    ...(path.endsWith("/belief") && look.metric && { metric: look.metric }),
  });
  return get(`${path}?${query}`, signal);
}

async function loadPresent() {
  const meant = given;
  const [summary, belief] = await Promise.all([
    lookAt(api, null), at === null ? lookAt(`${api}/belief`, null) : null,
  ]);
  if (meant === given || !study.summary) study.summary = summary;
  if (belief && at === null && (meant === given || !study.belief)) study.belief = belief;
  study.first ??= await firstTime();
}

/** The time of the first ask. */
async function firstTime() {
  const { events } = await get(`${api}/events?limit=2`);
  return events.find((event) => event.kind === "asked")?.t ?? null;
}

/** Show the belief at another time; a later call cancels an earlier one. */
async function moveTo(t) {
  at = t;
  moving.abort();
  moving = new AbortController();
  try {
    study.belief = await lookAt(`${api}/belief`, t, moving.signal);
    await showBelief();
  } catch (error) {
    showError(error);
  }
}

/** Show another context; null for that of the latest ask. */
function moveToContext(context) {
  given = context;
  moveTo(at);
  refreshPresent(true);
}

// ---- showing

const setContext = contextPanel(moveToContext);
const setSpan = timeSlider(moveTo);
const showAsks = askList(name, () => refresh(true));

async function showPresent() {
  const { summary, belief, first } = study;
  const clock = clockOf(summary);
  byId("content").hidden = false;
  setContext(summary.setup.context, given ?? summary.context, given === null);
  showSummary(summary);
  showSnippets(summary);
  showAsks(summary.open, clock, metricNames(summary.setup));
  showMetrics(summary.setup);
  await showFront(summary.front);
  const canReplay = first !== null && belief.view !== "none";
  setSpan({ first: first ?? 0, last: canReplay ? summary.t : first ?? 0, clock });
  showAllButton(summary.setup);
  await showBelief();
}

/** The choice of the metric on show, if there are several. */
function showMetrics(setup) {
  const names = metricNames(setup);
  const field = byId("metric");
  field.hidden = !names;
  if (!names || field.options.length) return;
  field.replaceChildren(...names.map((name) => element("option", {}, name)));
  field.value = look.metric;
}

async function showFront(front) {
  byId("front").closest(".card").hidden = !front;
  if (!front) return;
  await (front.choices.length ? draw(byId("front"), frontFigure(front)) : drawNothing(byId("front"), UNTOLD));
}

function showAllButton({ space }) {
  const count = space ? varying(space).length : 0;
  byId("all-parameters").hidden = count <= FEW;
  byId("all-parameters").firstElementChild.textContent =
    look.limit === FEW ? `Draw all ${count} parameters` : `Draw ${FEW} parameters`;
}

async function showBelief() {
  const { summary: { setup, drift, told, ...summary }, track, belief } = study;
  const clock = clockOf({ setup, ...summary });
  const { results } = ofMetric(track, look.metric);
  const shown = { setup, results, epsilon: drift.epsilon };
  const figure = told ? beliefFigure(belief, shown, look) : null;
  byId("belief-title").textContent = at === null ? "Belief now" : `Belief at ${clock.label(belief.t)}`;
  byId("uncertainty").hidden = !figure || belief.view !== "map";
  byId("belief-words").textContent = figure ? beliefWords(belief, look) : "";
  await (figure ? draw(byId("belief"), figure) : drawNothing(byId("belief"), told ? NO_BELIEF : UNTOLD));
}

async function showPast() {
  const { summary, track } = study;
  const clock = clockOf(summary);
  showCertificate(track.certificate);
  const why = track.results.length ? NO_BELIEF : UNTOLD;
  const shown = ofMetric(track, look.metric).results;
  byId("log-values").hidden = !(shown.length && shown.every((one) => one.value > 0));
  look.isLog &&= !byId("log-values").hidden;
  await (track.results.length
    ? draw(byId("rewards"), rewardsFigure(track, clock, look))
    : drawNothing(byId("rewards"), why));
  const isLong = varying(summary.setup.space ?? {}).length > 2;
  for (const id of ["rewards", "moves"]) byId(id).closest(".card").classList.toggle("wide", isLong);
  for (const words of document.querySelectorAll("[data-in-contexts]")) {
    words.hidden = !(summary.setup.context && track.best.length);
  }
  await (track.best.length
    ? draw(byId("moves"), movesFigure(track, summary.setup, clock, look))
    : drawNothing(byId("moves"), why));
}

// Two loops: the past takes the server longer, and the present should not wait for it.
const refreshPresent = paced(attempt(async () => {
  await loadPresent();
  await showPresent();
}));
const refreshPast = paced(attempt(async () => {
  study.track = await get(`${api}/track`);
  if (!study.summary) await loadPresent();
  await showPast();
  await showBelief();
}));

function refresh(isUrgent = false) {
  refreshPresent(isUrgent);
  refreshPast(isUrgent);
}

const redraw = attempt(async () => {
  if (!study.summary) return;
  await showPresent();
  await showPast();
});

/** Run work and show its errors; the status already shows an unreachable server. */
function attempt(work) {
  return async () => {
    try {
      await work();
    } catch (error) {
      if (error.status === 404) showGone();
      else if (error.code !== "unreachable") showError(error);
    }
  };
}

function showGone() {
  showState("gone");
  byId("content").hidden = true;
  for (const control of document.querySelectorAll("main > .head button")) control.disabled = true;
  byId("about").textContent = "There is no study with this name.";
}

// ---- actions

async function ask() {
  if (!await mayAsk()) return;
  const { uid, context } = study.summary;
  const made = await call("POST", `${api}/ask`, { uid, ...(context && { context: given ?? context }) });
  noteMine(made.id);
  study.summary.open.push(made);
  showAsks(study.summary.open, clockOf(study.summary), metricNames(study.summary.setup));
  document.querySelector(`[data-ask="${CSS.escape(made.id)}"] input`)?.focus();
  refresh(true);
}

async function exportAs(kind) {
  const response = await request("GET", `${api}/export?kind=${kind}`);
  saveFile(await response.blob(), `${name}.${kind}`);
}

async function confirmDelete() {
  byId("confirm-words").textContent = `“${name}” and all its results cannot be restored.`;
  const dialog = byId("confirm");
  dialog.returnValue = "cancel";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  if (dialog.returnValue !== "delete") return;
  await call("DELETE", `${api}?uid=${study.summary.uid}`);
  location.assign("/");
}

function addPictureButtons() {
  for (const tools of document.querySelectorAll("[data-pictures]")) {
    const id = tools.dataset.pictures;
    for (const format of ["png", "svg"]) {
      const save = () => savePicture(byId(id), format, `${name}-${id}`);
      const label = `Save this chart as ${format.toUpperCase()}`;
      tools.append(button(format.toUpperCase(), guarded(save),
        { className: "quiet", disabled: true, "aria-label": label, "data-format": format }));
    }
  }
}

function addListeners() {
  byId("ask").addEventListener("click", guarded(ask));
  byId("delete").addEventListener("click", guarded(confirmDelete));
  for (const control of document.querySelectorAll("[data-export]")) {
    control.addEventListener("click", guarded(() => exportAs(control.dataset.export)));
  }
  byId("uncertainty").addEventListener("click", (event) => {
    look.isDeviation = !look.isDeviation;
    event.currentTarget.setAttribute("aria-pressed", look.isDeviation);
    redraw();
  });
  byId("metric").addEventListener("change", (event) => {
    look.metric = event.currentTarget.value;
    moveTo(at);
    showPast();
  });
  byId("log-values").addEventListener("click", (event) => {
    look.isLog = !look.isLog;
    event.currentTarget.setAttribute("aria-pressed", look.isLog);
    redraw();
  });
  byId("all-parameters").firstElementChild.addEventListener("click", () => {
    look.limit = look.limit === FEW ? Infinity : FEW;
    redraw();
  });
  document.addEventListener("themechange", redraw);
  narrow.addEventListener("change", () => { look.isNarrow = narrow.matches; redraw(); });
}

async function start() {
  document.title = `${name} · Heliotrope`;
  byId("name").textContent = name;
  showState("connecting");
  addPictureButtons();
  addListeners();
  const { events, setup, lead } = await get(api);
  if (setup.metrics) look.metric = lead;
  refresh();
  if (setup.clock.kind === "wall") setInterval(() => refreshPresent(), TICK);
  await follow(api, events, {
    onEvent: (event) => { noteEvent(event); refresh(); },
    onState: (state) => (state === "gone" ? showGone() : showState(state)),
  });
}

attempt(start)();
