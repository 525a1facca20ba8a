// The token of a server that needs one: kept for this tab alone.

import { byId, element } from "./dom.js";
import { showState } from "./messages.js";

let asking = null;

/** Resolves when there is a token other than the one that was refused. */
export function askForToken(refused) {
  if (sessionStorage.getItem("heliotrope-token") !== refused) return Promise.resolve();
  asking ??= prompt(refused).finally(() => { asking = null; });
  return asking;
}

function prompt(refused) {
  const form = byId("token-form");
  const field = element("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  form.replaceChildren(
    element("h2", {}, "A token is needed"),
    element("p", { className: "faint" }, refused
      ? "The server refused that token."
      : "The server answers only those who have a token. It is kept until this tab is closed."),
    element("label", {}, "Token", field),
    element("p", {}, element("button", { className: "primary" }, "Use it")),
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
