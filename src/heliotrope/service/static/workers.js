// Whether someone else asks this study at the moment.

import { byId } from "./dom.js";

const LIVELY = 60_000; // ms since the last ask of a live worker

const mine = new Set(); // ids of the asks of this page
let recent = []; // asks of the event stream: {id, at}

export const noteMine = (id) => mine.add(id);

export function noteEvent({ kind, id }) {
  if (kind === "asked") recent = [...recent.slice(-50), { id, at: Date.now() }];
}

/** Resolves to whether to ask: at once, or after a question if a worker is live. */
export async function mayAsk() {
  const others = recent.filter(({ id, at }) => !mine.has(id) && Date.now() - at < LIVELY);
  if (!others.length) return true;
  const dialog = byId("confirm-ask");
  dialog.returnValue = "cancel";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "ask";
}
