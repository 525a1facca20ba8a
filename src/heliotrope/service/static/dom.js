// Elements without markup: data becomes text, never HTML.

export const byId = (id) => document.getElementById(id);

/** An element with properties (or `data-`/`aria-` attributes) and children, which may be texts. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

export const button = (text, onclick, properties = {}) =>
  element("button", { type: "button", onclick, ...properties }, text);

/** Download a blob as a file. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
