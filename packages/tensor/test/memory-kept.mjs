// Memory that a piece of work keeps. Garbage of what ran before it may be collected meanwhile: it does not count.
import { setTimeout } from 'node:timers/promises';

/** What work keeps that disposes of all it makes. */
export const NOTHING = { forgotten: 0 };

/** Bytes of devices that were allocated and never disposed, whether they were collected since or not. */
export function undisposedBytes(...devices) {
  const reports = devices.map((device) => device.memory());
  return reports.reduce((total, { liveBytes, leakedBytes }) => total + liveBytes + leakedBytes, 0);
}

/** Bytes and tensors of a report of `memory()` that were made and never disposed, whether they were collected since or not. */
export function undisposed({ liveBytes, leakedBytes, tensors, leaks }) {
  return [liveBytes + leakedBytes, tensors + leaks];
}

/** The same once nothing changes any more: work of tests before may still be under way, and give memory back. */
export async function settledUndisposed(report) {
  for (let now = undisposed(report()); ;) {
    await setTimeout(20);
    const next = undisposed(report());
    if (String(next) === String(now)) return now;
    now = next;
  }
}

/** Bytes that `work` allocated and neither disposed nor returned; what a call that failed still gives back is waited for. */
export async function memoryKept(device, work) {
  await device.synchronize();
  const [before] = await settledUndisposed(() => device.memory());
  await work();
  if (undisposedBytes(device) === before) return { forgotten: 0 };
  const [bytes] = await settledUndisposed(() => device.memory());
  return { forgotten: bytes - before };
}
