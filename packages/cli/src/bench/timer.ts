import { startProfile, timeSpan, type Device } from '@mercer/core';

type Timer = (device: Device, calls: number, call: () => void | Promise<void>) => Promise<number[]>;

/** A call of more launches is measured whole: events around each launch would cost the host as much as the launches. */
const MOST_BRACKETED = 2;

/**
 * Times `calls` calls that enqueue work on the device's default stream: milliseconds of each.
 * On a GPU events before and after every launch tell; on the CPU the clock around each call and its completion.
 */
export const timeCalls: Timer = (device, calls, call) =>
  (device.kind === 'cuda' ? timeByEvents : timeByClock)(device, calls, call);

/** What times a call: on a GPU by how many launches it makes. */
async function timerFor(device: Device, call: () => void | Promise<void>): Promise<Timer> {
  if (device.kind !== 'cuda') return timeByClock;
  const profile = startProfile();
  await call();
  return (await profile.stop()).length > MOST_BRACKETED ? timeBySpans : timeByEvents;
}

async function timeBySpans(
  { defaultStream: stream }: Device,
  calls: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const spans: Awaited<ReturnType<typeof timeSpan>>[] = [];
  for (let i = 0; i < calls; i++) {
    await stream.room();
    spans.push(await timeSpan(stream, call));
  }
  return Promise.all(spans.map((span) => span.milliseconds()));
}

async function timeByEvents(
  device: Device,
  calls: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const stream = device.defaultStream;
  const profile = startProfile();
  for (let i = 0; i < calls; i++) {
    await stream.room();
    await call();
  }
  const records = await profile.stop();
  const steps = records.length / calls; // launches of one call; the same for every call
  return Array.from({ length: calls }, (_, i) => {
    const [first, last] = [records[i * steps], records[(i + 1) * steps - 1]];
    if (first === undefined || last === undefined) return 0; // nothing to launch: an empty problem
    return last.startMs + last.durationMs - first.startMs;
  });
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
/** Calls that only warm up: code of the host is compiled while it runs. */
const WARM_MS = 100;
const MOST_WARM = 20;
const LEAST_WARM = 2;

const between = (least: number, value: number, most: number): number =>
  Math.min(most, Math.max(least, Math.round(value)));

/** Warms up and times a call as often as its length allows: five times at least unless that exceeds `maxSeconds`. */
export async function measureCalls(
  device: Device,
  maxSeconds: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const time = await timerFor(device, call);
  const [first = 0] = await time(device, 1, call);
  if (first > maxSeconds * 1e3) return [first];
  const warm = await time(device, between(LEAST_WARM, WARM_MS / first, MOST_WARM), call);
  const estimate = Math.max(Math.min(...warm), 1e-3);
  const affordable = Math.max(1, Math.floor((maxSeconds * 1e3) / estimate));
  const wanted = between(LEAST_CALLS, TARGET_MS / estimate, MOST_CALLS);
  return time(device, Math.min(wanted, affordable), call);
}
