/** What the methods send, and how they read the answers. */

import type { components, operations } from "./schema.js";

export type Schemas = components["schemas"];
export type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

/** Values of unknown parameters. */
export type AnyValues = Record<string, any>;
/** `params` is empty in a study of options, and `option` in a study of parameters. */
type Chosen<Params> = { params: Params; option: string };
export type Choosing<Answer, Params> = Omit<Answer, keyof Chosen<Params>> & Chosen<Params>;

export type Evaluation<Params = AnyValues> = Choosing<Schemas["Evaluation"], Params>;
/** The answer that a measurement before the time `hold_until` would not be worth its cost. */
export type Hold = Schemas["Hold"];
/** A value, or one of the other forms of a result, and its noise if it is known. */
export type Result = Omit<Body<"tell">, "id" | "ask">;

/**
 * An error answer of the service, or of a check before the request; `code` is for programs, such as
 * "unknown_study".
 */
export class HeliotropeError extends Error {
  override name = "HeliotropeError";
  readonly code: string;
  readonly field: string;
  readonly advice: string;

  constructor(
    readonly status: number,
    { error }: Schemas["Error"],
  ) {
    super(error.message);
    this.code = error.code;
    this.field = error.field;
    this.advice = error.advice;
  }
}

export function unwrap<Data>(answer: { data?: Data; error?: unknown; response: Response }): Data {
  if (answer.response.ok) return answer.data as Data;
  throw new HeliotropeError(answer.response.status, asError(answer.error, answer.response));
}

function asError(answer: unknown, { status, statusText }: Response): Schemas["Error"] {
  if (typeof answer === "object" && answer !== null && "error" in answer) {
    return answer as Schemas["Error"];
  }
  const message = `expected an answer of the service; got ${status} ${statusText}.`; // of a proxy
  return { error: { code: "service", message, field: "", expected: "", got: "", advice: "" } };
}

export function keyed<Options extends { key?: string | null }>(options: Options): Options {
  return { key: crypto.randomUUID(), ...options };
}

export function idOf(evaluation: { id: string } | string): string {
  return typeof evaluation === "string" ? evaluation : evaluation.id;
}

export function placeOf(place: AnyValues | string): { option: string } | { params: AnyValues } {
  return typeof place === "string" ? { option: place } : { params: place };
}

/** An answer with both `params` and `option`, of which the service sends one. */
export function chosen<Params, Answer>(answer: Answer): Choosing<Answer, Params> {
  return { params: {}, option: "", ...answer } as unknown as Choosing<Answer, Params>;
}

export function asResult(result: number | Result): Result {
  return typeof result === "number" ? { value: result } : result;
}
