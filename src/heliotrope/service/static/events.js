// The event stream of a study. EventSource cannot send a token, so this reads the stream itself.

import { request } from "./api.js";

const SHORTEST = 500; // ms before the first reconnection; doubled each time
const LONGEST = 15_000;
const SILENCE = 60_000; // ms without any data before the connection counts as lost

/** Call `onEvent` with each event after number `after`, until the study is deleted. */
export async function follow(path, after, { onEvent, onState }) {
  let last = after;
  let pause = SHORTEST;
  for (;;) {
    try {
      for await (const event of stream(`${path}/events?after=${last}`, () => onState("live"))) {
        pause = SHORTEST;
        last = event.seq;
        onEvent(event);
      }
    } catch (error) {
      if (error.status === 404) return onState("gone");
    }
    onState("reconnecting");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LONGEST);
  }
}

async function* stream(path, onOpen) {
  const control = new AbortController();
  const { signal } = control;
  const headers = { Accept: "text/event-stream" };
  const response = await request("GET", path, { headers, signal });
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const watch = setTimeout(() => control.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(watch));
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      yield* blocks.map(dataOf).filter(Boolean).map((text) => JSON.parse(text));
    }
  } finally {
    control.abort();
  }
}

const dataOf = (block) =>
  block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
