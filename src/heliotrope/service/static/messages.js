// Errors, and the status of the page.

import { button, byId, element } from "./dom.js";

const STATES = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  token: "Token needed",
  gone: "Not found",
};

export function showState(state) {
  const status = byId("status");
  if (status.dataset.state === state) return;
  status.dataset.state = state;
  status.textContent = STATES[state];
}

export function showError(error) {
  if (error.name === "AbortError") return;
  byId("message").replaceChildren(
    element("span", {}, error.message.charAt(0).toUpperCase() + error.message.slice(1)),
    button("Close", clearError, { className: "quiet" }),
  );
}

export const clearError = () => byId("message").replaceChildren();

/** An event listener that shows the errors of its work, and ignores events while it runs. */
export function guarded(work) {
  let isBusy = false;
  return async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    clearError();
    try {
      await work();
    } catch (error) {
      showError(error);
    } finally {
      isBusy = false;
    }
  };
}
