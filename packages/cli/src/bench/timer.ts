import { timeSpan, type Device, type TimedSpan } from '@mercer/core';
import { asMany } from './measuring-time.js';

/**
 * Times `calls` calls that enqueue work on the device's default stream: milliseconds of each.
 * On a GPU events before and behind each call tell, and the host does not wait between calls; on the CPU the clock around each
 * call and its completion.
 */
export async function timeCalls(
  device: Device,
  calls: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  return device.kind === 'cuda'
    ? timeByEvents(device, calls, call)
    : timeByClock(device, calls, call);
}

async function timeByEvents(
  { defaultStream: stream }: Device,
  calls: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const spans: TimedSpan[] = [];
  for (let i = 0; i < calls; i++) {
    await stream.room();
    spans.push(await timeSpan(stream, call));
  }
  return Promise.all(spans.map((span) => span.milliseconds()));
}

async function timeByClock(
  device: Device,
  calls: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < calls; i++) {
    const start = performance.now();
    const enqueued = call();
    if (enqueued instanceof Promise) await enqueued;
    await device.defaultStream.synchronize();
    times.push(performance.now() - start);
  }
  return times;
}

const TARGET_MS = 150;
const MOST_CALLS = 100;
const LEAST_CALLS = 5;
/** What only warms up: code of the host is compiled while it runs. */
const WARM_MS = 100;
/** After which the JavaScript of calls that make many others is compiled. */
export const STEADY_MS = 3000;
const MOST_WARM = 2000;
const WARM_AT_ONCE = 20;

const between = (least: number, value: number, most: number): number =>
  Math.min(most, Math.max(least, Math.round(value)));

/** Warms up and times a call as often as its length allows: five times at least unless that exceeds `maxSeconds`. */
export async function measureCalls(
  device: Device,
  maxSeconds: number,
  call: () => void | Promise<void>,
  warmMs = WARM_MS,
): Promise<number[]> {
  const [first = 0] = await timeCalls(device, 1, call);
  if (first > maxSeconds * 1e3) return [first];
  const start = performance.now();
  const warm: number[] = [];
  const warmFor = asMany(warmMs);
  while (warm.length === 0 || (performance.now() - start < warmFor && warm.length < MOST_WARM)) {
    warm.push(...(await timeCalls(device, between(1, warmFor / first, WARM_AT_ONCE), call)));
  }
  const estimate = Math.max(Math.min(...warm), 1e-3);
  const affordable = Math.max(1, Math.floor((maxSeconds * 1e3) / estimate));
  const wanted = between(asMany(LEAST_CALLS), asMany(TARGET_MS) / estimate, asMany(MOST_CALLS));
  return timeCalls(device, Math.min(wanted, affordable), call);
}
