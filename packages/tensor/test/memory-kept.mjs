// Memory that a piece of work keeps, counted apart from the garbage of what ran before it.
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What work keeps that disposes of all it makes. */
export const NOTHING = { bytes: 0, storages: 0, leaks: 0 };

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
 * The bytes and storages that are live after `work` and were not before, and how many tensors were collected in between
 * without having been disposed: a forgotten tensor counts as the one or as the other. Garbage of earlier tests is collected first.
 */
export async function memoryKept(device, work) {
  await collectAll(device);
  const before = device.memory();
  running.push(work);
  await work();
  const after = device.memory();
  running.pop();
  return {
    bytes: after.liveBytes - before.liveBytes,
    storages: after.liveStorages - before.liveStorages,
    leaks: after.leaks - before.leaks,
  };
}
