import { startProfile, type Device } from '@mercer/core';

/**
 * Times `calls` calls that enqueue work on the device's default stream: milliseconds of each.
 * On a GPU events before and after every launch tell; on the CPU the clock around each call and its completion.
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

/** Warms up and times a call as often as its length allows: five times at least unless that exceeds `maxSeconds`. */
export async function measureCalls(
  device: Device,
  maxSeconds: number,
  call: () => void | Promise<void>,
): Promise<number[]> {
  const [first = 0] = await timeCalls(device, 1, call);
  if (first > maxSeconds * 1e3) return [first];
  const warm = await timeCalls(device, 2, call);
  const estimate = Math.max(Math.min(...warm), 1e-3);
  const affordable = Math.max(1, Math.floor((maxSeconds * 1e3) / estimate));
  const wanted = Math.min(MOST_CALLS, Math.max(LEAST_CALLS, Math.round(TARGET_MS / estimate)));
  return timeCalls(device, Math.min(wanted, affordable), call);
}
