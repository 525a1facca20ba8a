/** A client of a Heliotrope service. `schema.ts` and `verbs.ts` are generated. */

import createClient, { type Client } from "openapi-fetch";

import {
  chosen,
  HeliotropeError,
  unwrap,
  type AnyValues,
  type Body,
  type Choosing,
  type Evaluation,
  type Schemas,
} from "./answers.js";
import type { operations, paths } from "./schema.js";
import { StudyVerbs } from "./verbs.js";

export { HeliotropeError, type AnyValues, type Evaluation, type Hold, type Result } from "./answers.js";
export type * from "./verbs.js";

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

export type Best<Params = AnyValues> = Choosing<Schemas["Best"], Params>;
export type Summary<Params = AnyValues> = Omit<Schemas["Summary"], "best" | "open"> & {
  best: Best<Params> | null;
  open: Evaluation<Params>[];
};
export type Listing = Schemas["Listing"];
/** The configuration of a new study, without its name. */
export type Config = Omit<Body<"create">, "name">;
type ConfigOf<Parameters extends Space> = Omit<Config, "space"> & { space?: Parameters };

export interface Options {
  /** The token of the service, if it needs one. */
  token?: string;
  /** How often a request is repeated if its answer is lost. */
  retries?: number;
  /** Seconds until an attempt is given up. */
  timeout?: number;
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
export class Study<Params extends AnyValues = AnyValues> extends StudyVerbs<Params> {
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
