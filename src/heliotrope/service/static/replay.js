// The time slider: the belief at any past time, or now.

import { byId } from "./dom.js";

const FRAMES = 40; // largest number of frames in a replay

/** Control the slider; `onMove(t)` shows the belief at a past time, `onMove(null)` the current one. */
export function timeSlider(onMove) {
  const slider = byId("time");
  const [play, now] = [byId("play"), byId("now")];
  let [first, last, clock] = [0, 0, null];
  let at = null;
  let playing = false;

  function show() {
    slider.min = first;
    slider.max = last;
    slider.step = clock.step;
    slider.value = at ?? last;
    slider.disabled = play.disabled = last <= first;
    now.disabled = at === null;
    play.textContent = playing ? "Pause" : "Replay";
    const label = clock.label(at ?? last);
    byId("time-label").textContent = label;
    slider.setAttribute("aria-valuetext", label);
  }

  async function move(t) {
    at = t === null || t >= last ? null : t;
    show();
    await onMove(at);
  }

  async function run() {
    playing = !playing;
    let t = at ?? first;
    while (playing) {
      await move(t);
      await new Promise((resolve) => setTimeout(resolve, 60));
      if (at === null) playing = false;
      t += Math.max((last - first) / FRAMES, clock.shortest);
    }
    show();
  }

  const stop = () => { playing = false; };
  slider.addEventListener("input", () => { stop(); move(slider.valueAsNumber); });
  now.addEventListener("click", () => { stop(); move(null); });
  play.addEventListener("click", run);

  /** Set the range of times: {first, last, clock}. */
  return (span) => {
    ({ first, last, clock } = span);
    show();
  };
}
