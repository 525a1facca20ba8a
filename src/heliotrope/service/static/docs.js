// The OpenAPI description of the service as a page.

import { get } from "./api.js";
import { byId, element } from "./dom.js";
import { showError } from "./messages.js";

const nameOf = (ref) => ref.split("/").at(-1);

/** A schema in a few words; those of answers are links. */
function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return element("a", { href: `#${nameOf(schema.$ref)}` }, nameOf(schema.$ref));
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.const !== undefined) return String(schema.const);
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return element("span", {}, ...some.flatMap((one, i) => [i ? " or " : "", typeOf(one)]));
  if (schema.type === "array") return element("span", {}, "list of ", typeOf(schema.items) || "values");
  return schema.type ?? "any";
}

function table(rows) {
  const heads = ["Field", "Type", "Meaning"].map((text) => element("th", { scope: "col" }, text));
  return element("table", { className: "fields-of" },
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...rows.map(([name, type, words]) => element("tr", {},
      element("td", {}, element("code", {}, name)), element("td", {}, type), element("td", {}, words)))));
}

function fields({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => {
    const words = [schema.description, required.includes(name) ? "" : "Optional."].filter(Boolean).join(" ");
    return [name, typeOf(schema), words];
  });
}

function operation(method, path, { summary, description, parameters = [], requestBody, responses }) {
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const rows = [
    ...parameters.map((one) => [one.name, typeOf(one.schema), `${one.description ?? ""} (in the ${one.in})`.trim()]),
    ...(body ? fields(body) : []),
  ];
  const answers = Object.entries(responses).map(([status, { description: words, content }]) => {
    const schema = Object.values(content ?? {})[0]?.schema;
    return element("li", {}, `${status}: ${words ?? ""} `, typeOf(schema));
  });
  return element("section", { className: "card" },
    element("h2", {}, element("code", {}, `${method.toUpperCase()} ${path}`)),
    element("p", {}, summary ?? description ?? ""),
    ...(rows.length ? [table(rows)] : []),
    element("ul", { className: "answers" }, ...answers));
}

function answer(name, schema) {
  return element("section", { className: "card", id: name },
    element("h3", {}, name), element("p", {}, schema.description ?? ""), table(fields(schema)));
}

try {
  const { paths, components } = await get("/openapi.json");
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => operation(method, path, one)));
  byId("operations").replaceChildren(...operations);
  byId("answers").replaceChildren(...Object.entries(components.schemas).map(([name, one]) => answer(name, one)));
} catch (error) {
  showError(error);
}
