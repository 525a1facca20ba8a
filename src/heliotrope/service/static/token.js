// The token of the server, kept for this tab only.

import { byId, element } from "./dom.js";
import { showState } from "./messages.js";

let asking = null;

/** Resolves when there is a token other than the rejected one. */
export function askForToken(rejected) {
  if (sessionStorage.getItem("heliotrope-token") !== rejected) return Promise.resolve();
  asking ??= prompt(rejected).finally(() => { asking = null; });
  return asking;
}

function prompt(rejected) {
  const form = byId("token-form");
  const field = element("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  form.replaceChildren(
    element("h2", {}, "Token needed"),
    element("p", { className: "faint" }, rejected
      ? "The server rejected this token."
      : "The server requires a token. It is kept until this tab is closed."),
    element("label", {}, "Token", field),
    element("p", {}, element("button", { className: "primary" }, "Use token")),
  );
  form.hidden = false;
  field.focus();
  showState("token");
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("heliotrope-token", field.value.trim());
      form.hidden = true;
      showState("connecting");
      resolve();
    };
  });
}
