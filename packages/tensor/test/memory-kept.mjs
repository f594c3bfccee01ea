// Memory that a piece of work keeps, counted apart from the garbage of what ran before it.
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What work keeps that disposes of all it makes. */
export const NOTHING = { forgotten: 0 };

/** Rounds without a change after which nothing more is expected. */
const STILL = 3;
/** Finalisers run as tasks of their own, later on a busy machine. */
const ROUND_MS = 5;

let collect;

/** Collects garbage until no collection frees a tensor: finalisers run between tasks, and may free what holds another. */
async function collectAll(device) {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc');
  await device.synchronize();
  let before = device.memory().leaks;
  for (let still = 0; still < STILL; still++) {
    collect();
    await setTimeout(ROUND_MS);
    const { leaks } = device.memory();
    if (leaks !== before) still = 0;
    before = leaks;
  }
}

/** What `work` refers to stays reachable until it was counted, so that only what it made itself can be collected. */
const running = [];

/**
 * How many storages `work` made and did not return: they are live, or were collected without having been disposed. Garbage of earlier
 * tests is collected first. What the engine holds on to a little longer is a storage less and a leak more, so it does not count.
 */
export async function memoryKept(device, work) {
  await collectAll(device);
  const before = device.memory();
  running.push(work);
  await work();
  const after = device.memory();
  running.pop();
  const forgotten = after.liveStorages - before.liveStorages + after.leaks - before.leaks;
  return { forgotten };
}
