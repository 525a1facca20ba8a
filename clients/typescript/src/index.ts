/** A client of a Heliotrope service. `schema.ts` is made from the service's OpenAPI description. */

import createClient, { type Client } from "openapi-fetch";

import type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

/** Parameters as `create` takes them, by name. */
export type Space = NonNullable<Body<"create">["space"]>;
type ValueOf<Parameter> = Parameter extends { type: "boolean" }
  ? boolean
  : Parameter extends { choices: (infer Choice)[] }
    ? Choice
    : number;
/** The values of parameters by name, each of the type that the space gives it. */
export type Values<Parameters extends Space> = {
  [Name in keyof Parameters]: ValueOf<Parameters[Name]>;
};
/** Values of unknown parameters. */
export type AnyValues = Record<string, any>;
/** `params` is empty in a study of options, and `option` in a study of parameters. */
type Chosen<Params> = { params: Params; option: string };
type Choosing<Answer, Params> = Omit<Answer, keyof Chosen<Params>> & Chosen<Params>;

export type Evaluation<Params = AnyValues> = Choosing<Schemas["Evaluation"], Params>;
export type Best<Params = AnyValues> = Choosing<Schemas["Best"], Params>;
/** The answer that a measurement before the time `hold_until` would not be worth its cost. */
export type Hold = Schemas["Hold"];
export type Summary<Params = AnyValues> = Omit<Schemas["Summary"], "best" | "open"> & {
  best: Best<Params> | null;
  open: Evaluation<Params>[];
};
export type Listing = Schemas["Listing"];
/** The configuration of a new study, without its name. */
export type Config = Omit<Body<"create">, "name">;
type ConfigOf<Parameters extends Space> = Omit<Config, "space"> & { space?: Parameters };
/** A value, or one of the other forms of a result, and its noise if it is known. */
export type Result = Omit<Body<"tell">, "id" | "ask">;
export type AskOptions = Omit<Body<"ask">, "uid">;
export type HeartbeatOptions = Omit<Body<"heartbeat">, "id">;
export type AddOptions = Omit<Body<"add">, "params" | "option" | "uid">;

export interface Options {
  /** The token of the service, if it needs one. */
  token?: string;
  /** How often a request is repeated if its answer is lost. */
  retries?: number;
  /** Seconds until an attempt is given up. */
  timeout?: number;
}

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

const RETRIED = new Set([408, 429, 502, 503, 504]);
const PAUSE = 200; // milliseconds; each pause is twice the one before

/** Connect to the service at a URL such as "http://127.0.0.1:8000". */
export function connect(url: string, options: Options = {}): Service {
  const headers = options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` };
  const fetch = repeating(options.retries ?? 5, (options.timeout ?? 30) * 1000);
  return new Service(createClient<paths>({ baseUrl: url, headers, fetch, bodySerializer: asJson }));
}

/** The studies of a service. */
export class Service {
  constructor(private readonly client: Client<paths>) {}

  /** Create a study. The types of its parameters follow from their descriptions. */
  async create<Parameters extends Space = Record<string, never>>(
    name: string,
    config: ConfigOf<Parameters>,
  ): Promise<Study<Values<Parameters>>> {
    unwrap(await this.client.POST("/api/studies", { body: { name, ...config } }));
    return this.study(name);
  }

  /** A study that exists already, such as `service.study<{ temperature: number }>("boiler")`. */
  study<Params extends AnyValues = AnyValues>(name: string): Study<Params> {
    return new Study(this.client, name);
  }

  /** Names of studies, and the name after which the next page starts. */
  async list(query: NonNullable<operations["list"]["parameters"]["query"]> = {}): Promise<Listing> {
    return unwrap(await this.client.GET("/api/studies", { params: { query } }));
  }
}

/** A named, durable optimizer. When a call returns, its events are on disk. */
export class Study<Params extends AnyValues = AnyValues> {
  private readonly at: { params: { path: { name: string } } };

  constructor(
    private readonly client: Client<paths>,
    readonly name: string,
  ) {
    this.at = { params: { path: { name } } };
  }

  /** Ask what to measure. Its key makes a repeated request open one evaluation only. */
  async ask(options?: AskOptions & { cost?: null }): Promise<Evaluation<Params>>;
  /** With the cost of a measurement, the answer may be to measure nothing yet. */
  async ask(options: AskOptions): Promise<Evaluation<Params> | Hold>;
  async ask(options: AskOptions = {}): Promise<Evaluation<Params> | Hold> {
    const body = keyed(options);
    const asked = unwrap(await this.client.POST("/api/studies/{name}/ask", { ...this.at, body }));
    return "id" in asked ? chosen(asked) : asked;
  }

  /**
   * Tell the result of an evaluation: a number, or an object such as `{ value: 1, std: 0.1 }`. With
   * several metrics, `value` and `std` are objects: `{ value: { throughput: 812, p99: 143 } }`.
   */
  async tell(evaluation: Evaluation<Params> | string, result: number | Result): Promise<void> {
    const body = { id: idOf(evaluation), ...asResult(result) };
    unwrap(await this.client.POST("/api/studies/{name}/tell", { ...this.at, body }));
  }

  /** Tell a result and ask for the next evaluation: both are done, or neither. */
  async tellAndAsk(
    evaluation: Evaluation<Params> | string,
    result: number | Result,
    options: AskOptions & { cost?: null } = {},
  ): Promise<Evaluation<Params>> {
    const body = { id: idOf(evaluation), ...asResult(result), ask: keyed(options) };
    const told = unwrap(await this.client.POST("/api/studies/{name}/tell", { ...this.at, body }));
    if (told.ask === undefined || !("id" in told.ask)) {
      throw new TypeError("The service answered without an evaluation.");
    }
    return chosen(told.ask);
  }

  /** Add a result that was measured elsewhere, of parameters or of an option. */
  async add(
    place: Params | string,
    result: number | Result,
    options: AddOptions = {},
  ): Promise<Evaluation<Params>> {
    const body = { ...placeOf(place), ...asResult(result), ...keyed(options) };
    return chosen(unwrap(await this.client.POST("/api/studies/{name}/add", { ...this.at, body })));
  }

  /** Say which parameters, or which option, the system runs with now. */
  async applied(place: Params | string): Promise<void> {
    const body = placeOf(place);
    unwrap(await this.client.POST("/api/studies/{name}/applied", { ...this.at, body }));
  }

  /** Cancel an evaluation whose measurement failed. */
  async cancel(evaluation: Evaluation<Params> | string): Promise<void> {
    const body = { id: idOf(evaluation) };
    unwrap(await this.client.POST("/api/studies/{name}/cancel", { ...this.at, body }));
  }

  /** Prolong the lease of an open evaluation by its length, or by a new one, from now on. */
  async heartbeat(
    evaluation: Evaluation<Params> | string,
    options: HeartbeatOptions = {},
  ): Promise<Evaluation<Params>> {
    const body = { id: idOf(evaluation), ...options };
    const path = "/api/studies/{name}/heartbeat";
    return chosen(unwrap(await this.client.POST(path, { ...this.at, body })));
  }

  /** Move later times back to the present, after a clock was ahead. */
  async retime(options: Body<"retime"> = {}): Promise<void> {
    const body = options;
    unwrap(await this.client.POST("/api/studies/{name}/retime", { ...this.at, body }));
  }

  /** The configuration, the counts, the best now and the drift. */
  async summary(): Promise<Summary<Params>> {
    const summary = unwrap(await this.client.GET("/api/studies/{name}", this.at));
    const open = summary.open.map((one) => chosen<Params, Schemas["Evaluation"]>(one));
    const best = summary.best && chosen<Params, Schemas["Best"]>(summary.best);
    return { ...summary, open, best };
  }

  /** The belief about all choices, now or at a time. */
  async belief(query: { t?: number; metric?: string } = {}): Promise<Schemas["Belief"]> {
    const params = { ...this.at.params, query };
    return unwrap(await this.client.GET("/api/studies/{name}/belief", { params }));
  }

  /** The best trade-offs between several objectives. */
  async front(query: { t?: number } = {}): Promise<Schemas["Front"]> {
    const params = { ...this.at.params, query };
    return unwrap(await this.client.GET("/api/studies/{name}/front", { params }));
  }

  /** The results over time, and how the best has moved. */
  async track(): Promise<Schemas["Track"]> {
    return unwrap(await this.client.GET("/api/studies/{name}/track", this.at));
  }

  /** The events after a number. */
  async events(query: { after?: number; limit?: number } = {}): Promise<Schemas["EventPage"]> {
    const params = { ...this.at.params, query };
    const page = unwrap(await this.client.GET("/api/studies/{name}/events", { params }));
    return page as Schemas["EventPage"]; // a stream only if the request accepts one
  }

  /** Delete the study with all its events. */
  async delete(): Promise<void> {
    unwrap(await this.client.DELETE("/api/studies/{name}", this.at));
  }
}

function unwrap<Data>(answer: { data?: Data; error?: unknown; response: Response }): Data {
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

/** A body as JSON; NaN and Infinity are refused, since JSON would make them null. */
function asJson(body: unknown): string {
  checkFinite(body, "");
  return JSON.stringify(body);
}

function checkFinite(value: unknown, field: string): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    const [expected, got] = ["a finite number", String(value)];
    const message = `${field}: expected ${expected}; got ${got}.`;
    throw new HeliotropeError(422, {
      error: { code: "input", message, field, expected, got, advice: "" },
    });
  }
  if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      checkFinite(inner, field === "" ? name : `${field}.${name}`);
    }
  }
}

function keyed<Options extends { key?: string | null }>(options: Options): Options {
  return { key: crypto.randomUUID(), ...options };
}

function idOf(evaluation: { id: string } | string): string {
  return typeof evaluation === "string" ? evaluation : evaluation.id;
}

function placeOf(place: AnyValues | string): { option: string } | { params: AnyValues } {
  return typeof place === "string" ? { option: place } : { params: place };
}

/** An answer with both `params` and `option`, of which the service sends one. */
function chosen<Params, Answer>(answer: Answer): Choosing<Answer, Params> {
  return { params: {}, option: "", ...answer } as unknown as Choosing<Answer, Params>;
}

function asResult(result: number | Result): Result {
  return typeof result === "number" ? { value: result } : result;
}

/** Repeat a request whose answer is lost: every command of the service may be repeated. */
function repeating(retries: number, timeout: number): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt === retries;
      try {
        const signal = AbortSignal.timeout(timeout);
        const response = await fetch(request.clone(), { signal });
        if (isLast || !RETRIED.has(response.status)) return response;
        await response.body?.cancel();
      } catch (error) {
        if (isLast) throw error;
      }
      await new Promise((done) => setTimeout(done, PAUSE * 2 ** attempt));
    }
  };
}
