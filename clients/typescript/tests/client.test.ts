/** Run by `npm test` against the service at $HELIOTROPE_URL, with the token $HELIOTROPE_TOKEN. */

import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { connect, HeliotropeError, type Config, type Study } from "../src/index.js";

const url = process.env["HELIOTROPE_URL"] ?? "http://127.0.0.1:8000";
const token = process.env["HELIOTROPE_TOKEN"] ?? "";
const service = connect(url, token === "" ? {} : { token });
const name = (about: string): string => `ts ${about} ${crypto.randomUUID().slice(0, 8)}`;

test("ask and tell find the best of a space", async () => {
  const study = await service.create(name("space"), {
    space: { x: { type: "real", low: 0, high: 1 }, mode: { type: "categorical", choices: ["a", "b"] } },
    direction: "minimize",
    seed: 1,
  });
  let asked = await study.ask();
  for (let step = 0; step < 15; step++) {
    const { x, mode } = asked.params;
    asked = await study.tellAndAsk(asked, (x - 0.3) ** 2 + (mode === "a" ? 0 : 1));
  }
  await study.tell(asked, { value: 0.5, std: 0.1 });
  const { told, best } = await study.summary();
  assert.equal(told, 16);
  assert.equal(best?.params.mode, "a");
  assert.equal((await study.track()).results.length, 16);
  assert.equal((await study.belief()).t, asked.t);
});

test("the types of parameters follow from the space, if it is known", async () => {
  const config: Config = { space: { on: { type: "boolean" } } };
  const unknown = await (await service.create(name("config"), config)).ask();
  // @ts-expect-error The type of a configuration does not say which parameters there are.
  const on: boolean = unknown.params["on"];
  assert.equal(typeof on, "boolean");
  const known: Study<{ on: boolean }> = await service.create(name("known"), {
    space: { on: { type: "boolean" } },
  });
  const any: Study = known;
  const asked = await any.ask();
  assert.equal(typeof asked.params["on"], "boolean");
  // @ts-expect-error There is no such parameter.
  await assert.rejects(known.add({ off: true }, 1), HeliotropeError);
});

test("options, results from elsewhere, cancelled evaluations", async () => {
  const study = await service.create(name("options"), { options: ["red", "blue"] });
  const added = await study.add("red", 0.7, { t: 3 });
  assert.deepEqual([added.option, added.params, added.t], ["red", {}, 3]);
  const asked = await study.ask({ t: 4 });
  assert.deepEqual((await study.summary()).open, [asked]);
  await study.cancel(asked);
  await study.add("blue", { successes: 3, trials: 10 }, { t: 5 });
  const { asked: count, told } = await study.summary();
  assert.deepEqual([count, told], [3, 2]);
  const { events, last } = await study.events({ after: 1 });
  assert.equal(events.length, last - 1);
});

test("leases are prolonged, and later times are moved back", async () => {
  const study = await service.create(name("leases"), { options: ["red", "blue"] });
  const asked = await study.ask({ t: 9, lease: "10min" });
  const prolonged = await study.heartbeat(asked, { lease: "1h" });
  assert.equal(prolonged.id, asked.id);
  assert.ok((prolonged.until ?? 0) > (asked.until ?? 0));
  await study.retime({ t: 3 });
  assert.equal((await study.ask({ t: 4 })).t, 4);
});

test("metrics, limits, what runs, and a hold", async () => {
  const study = await service.create(name("live"), {
    space: { workers: { type: "integer", low: 1, high: 16 } },
    metrics: { throughput: "maximize", p99: "watch" },
    limits: { p99: { below: 200 } },
    baseline: { workers: 8 },
    moves: { largest: { workers: 4 } },
  });
  for (let step = 0; step < 8; step++) {
    const asked = await study.ask();
    const { workers } = asked.params;
    assert.equal(typeof asked.reason, "string");
    await study.tell(asked, { value: { throughput: 40 * workers, p99: 8 * workers }, std: { p99: 1 } });
  }
  const { gain, baseline } = await study.summary();
  assert.ok(gain && "now" in gain);
  assert.deepEqual(baseline?.["params"], { workers: 8 });
  assert.equal((await study.belief({ metric: "p99" })).metric, "p99");
  await study.applied({ workers: 2 });
  const answer = await study.ask({ cost: 1e9 });
  assert.ok("hold_until" in answer);
  await assert.rejects(study.front(), HeliotropeError);
});

test("an error has the code and the field of the service", async () => {
  await assert.rejects(service.study("nowhere at all").ask(), (error) => {
    assert.ok(error instanceof HeliotropeError);
    assert.deepEqual([error.status, error.code], [404, "unknown_study"]);
    return true;
  });
  const low = { x: { type: "real", low: 2, high: 1 } } as const;
  await assert.rejects(service.create(name("bad"), { space: low }), (error) => {
    assert.ok(error instanceof HeliotropeError);
    assert.equal(error.field, "space.x.high");
    return true;
  });
});

test("a number that is not finite is refused with its name", async () => {
  const study = await service.create(name("finite"), {
    space: { x: { type: "real", low: 0, high: 1 } },
  });
  const asked = await study.ask();
  const told = { value: { rate: 1, p99: -Infinity } };
  for (const [field, got, send] of [
    ["value", "NaN", () => study.tell(asked, NaN)],
    ["value.p99", "-Infinity", () => study.tell(asked, told)],
    ["params.x", "Infinity", () => study.add({ x: Infinity }, 1)],
    ["ask.t", "NaN", () => study.tellAndAsk(asked, 1, { t: NaN })],
  ] as const) {
    const message = `${field}: expected a finite number; got ${got}.`;
    await assert.rejects(send, { name: "HeliotropeError", code: "input", field, message });
  }
  assert.equal((await study.summary()).told, 0);
});

test("a study is listed until it is deleted", async () => {
  const study = await service.create(name("short"), { options: ["a", "b"] });
  const listed = async (): Promise<boolean> =>
    (await service.list()).studies.some((one) => one.name === study.name);
  assert.equal(await listed(), true);
  await study.delete();
  assert.equal(await listed(), false);
});

test("a lost answer is asked for again and opens one evaluation", async () => {
  const study = await service.create(name("lost"), { options: ["a", "b"] });
  let lost = 2; // answers
  const proxy = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? "/", url);
    const { method, headers } = incoming;
    const forwarded = httpRequest(target, { method, headers: { ...headers, host: target.host } });
    forwarded.on("response", (answer) => {
      if (lost-- > 0) return void incoming.socket.destroy();
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  try {
    const { port } = proxy.address() as AddressInfo;
    const options = token === "" ? {} : { token };
    const asked = await connect(`http://127.0.0.1:${port}`, options).study(study.name).ask();
    assert.ok(asked.option);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
  assert.equal((await study.summary()).asked, 1);
});
