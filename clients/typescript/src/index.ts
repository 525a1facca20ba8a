/** A client of a Heliotrope service. `schema.ts` is made from the service's OpenAPI description. */

import createClient, { type Client } from "openapi-fetch";

import type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

export type Evaluation = Schemas["Evaluation"];
/** The answer that a measurement before the time `hold_until` would not be worth its cost. */
export type Hold = Schemas["Hold"];
export type Summary = Schemas["Summary"];
export type Listing = Schemas["Listing"];
/** The configuration of a new study, without its name. */
export type Config = Omit<Body<"create">, "name">;
/** A value, or one of the other forms of a result, and its noise if it is known. */
export type Result = Omit<Body<"tell">, "id" | "ask">;
export type AskOptions = Omit<Body<"ask">, "uid">;
export type AddOptions = Omit<Body<"add">, "params" | "option" | "uid">;

export interface Options {
  /** The token of the service, if it needs one. */
  token?: string;
  /** How often a request is repeated if its answer is lost. */
  retries?: number;
  /** Seconds until an attempt is given up. */
  timeout?: number;
}

/** An error answer of the service; `code` is for programs, such as "unknown_study". */
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
  return new Service(createClient<paths>({ baseUrl: url, headers, fetch }));
}

/** The studies of a service. */
export class Service {
  constructor(private readonly client: Client<paths>) {}

  /** Create a study. */
  async create(name: string, config: Config): Promise<Study> {
    unwrap(await this.client.POST("/api/studies", { body: { name, ...config } }));
    return this.study(name);
  }

  /** A study that exists already. */
  study(name: string): Study {
    return new Study(this.client, name);
  }

  /** Names of studies, and the name after which the next page starts. */
  async list(query: NonNullable<operations["list"]["parameters"]["query"]> = {}): Promise<Listing> {
    return unwrap(await this.client.GET("/api/studies", { params: { query } }));
  }
}

/** A named, durable optimizer. When a call returns, its events are on disk. */
export class Study {
  private readonly at: { params: { path: { name: string } } };

  constructor(
    private readonly client: Client<paths>,
    readonly name: string,
  ) {
    this.at = { params: { path: { name } } };
  }

  /** Ask what to measure. Its key makes a repeated request open one evaluation only. */
  async ask(options?: AskOptions & { cost?: null }): Promise<Evaluation>;
  /** With the cost of a measurement, the answer may be to measure nothing yet. */
  async ask(options: AskOptions): Promise<Evaluation | Hold>;
  async ask(options: AskOptions = {}): Promise<Evaluation | Hold> {
    const body = keyed(options);
    return unwrap(await this.client.POST("/api/studies/{name}/ask", { ...this.at, body }));
  }

  /**
   * Tell the result of an evaluation: a number, or an object such as `{ value: 1, std: 0.1 }`. With
   * several metrics, `value` and `std` are objects: `{ value: { throughput: 812, p99: 143 } }`.
   */
  async tell(evaluation: Evaluation | string, result: number | Result): Promise<void> {
    const body = { id: idOf(evaluation), ...asResult(result) };
    unwrap(await this.client.POST("/api/studies/{name}/tell", { ...this.at, body }));
  }

  /** Tell a result and ask for the next evaluation: both are done, or neither. */
  async tellAndAsk(
    evaluation: Evaluation | string,
    result: number | Result,
    options: AskOptions & { cost?: null } = {},
  ): Promise<Evaluation> {
    const body = { id: idOf(evaluation), ...asResult(result), ask: keyed(options) };
    const told = unwrap(await this.client.POST("/api/studies/{name}/tell", { ...this.at, body }));
    if (told.ask === undefined || !("id" in told.ask)) {
      throw new TypeError("The service answered without an evaluation.");
    }
    return told.ask;
  }

  /** Add a result that was measured elsewhere, of parameters or of an option. */
  async add(
    place: Record<string, unknown> | string,
    result: number | Result,
    options: AddOptions = {},
  ): Promise<Evaluation> {
    const chosen = typeof place === "string" ? { option: place } : { params: place };
    const body = { ...chosen, ...asResult(result), ...keyed(options) };
    return unwrap(await this.client.POST("/api/studies/{name}/add", { ...this.at, body }));
  }

  /** Say which parameters, or which option, the system runs with now. */
  async applied(place: Record<string, unknown> | string): Promise<void> {
    const body = typeof place === "string" ? { option: place } : { params: place };
    unwrap(await this.client.POST("/api/studies/{name}/applied", { ...this.at, body }));
  }

  /** Cancel an evaluation whose measurement failed. */
  async cancel(evaluation: Evaluation | string): Promise<void> {
    const body = { id: idOf(evaluation) };
    unwrap(await this.client.POST("/api/studies/{name}/cancel", { ...this.at, body }));
  }

  /** The configuration, the counts, the best now and the drift. */
  async summary(): Promise<Summary> {
    return unwrap(await this.client.GET("/api/studies/{name}", this.at));
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

function keyed<Options extends { key?: string | null }>(options: Options): Options {
  return { key: crypto.randomUUID(), ...options };
}

function idOf(evaluation: Evaluation | string): string {
  return typeof evaluation === "string" ? evaluation : evaluation.id;
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
