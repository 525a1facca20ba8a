// Requests to the server: JSON, the token, and errors.

import { askForToken } from "./token.js";

export class ApiError extends Error {
  constructor(status, { code = "", message = "", field = "" } = {}) {
    super(message || `The server answered with status ${status}.`);
    Object.assign(this, { status, code, field });
  }
}

/** The response, or an ApiError; asks the user for a token if the server needs one. */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  for (;;) {
    const token = sessionStorage.getItem("heliotrope-token");
    const response = await reach(path, {
      method,
      signal,
      headers: {
        ...headers,
        ...(method !== "GET" && { "Content-Type": "application/json" }),
        ...(token && { Authorization: `Bearer ${token}` }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.ok) return response;
    if (response.status !== 401) throw await errorOf(response);
    await askForToken(token);
  }
}

export async function call(method, path, body, signal) {
  const response = await request(method, path, { body, signal });
  return response.status === 204 ? null : response.json();
}

export const get = (path, signal) => call("GET", path, undefined, signal);

export const pathOf = (name) => `/api/studies/${encodeURIComponent(name)}`;

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "unreachable", message: "The server cannot be reached." });
  }
}

async function errorOf(response) {
  const answer = await response.json().catch(() => ({}));
  return new ApiError(response.status, answer.error);
}
