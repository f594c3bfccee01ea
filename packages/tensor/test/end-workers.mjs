// Ends COUNT worker threads at random moments while they load the library, compile through the kernel store and compute, and
// uses the store itself meanwhile: `end-workers.mjs COUNT`. Prints what was wrong, and in how many workers a kernel had run.
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { add, variable } from '@mercer/formula';
import { jitCache, map, tensor } from '../dist/index.js';

const SHARED = 20;
const LONGEST_MS = 400;

/** x + n, one kernel for each n. */
async function plus(n) {
  const x = await tensor([1, 2], { device: 'cpu', dtype: 'float64' });
  const sums = await map(add(variable('x'), n), { x });
  const found = [...(await sums.toTypedArray())];
  for (const one of [x, sums]) one.dispose();
  if (found[0] !== 1 + n || found[1] !== 2 + n) throw new Error(`x + ${n} was ${found}`);
}

/** Kernels that others have compiled, and now and then one that nobody has. */
async function work(round) {
  const isNew = round % 4 === 3;
  await plus(isNew ? SHARED + Math.floor(Math.random() * 1e9) : round % SHARED);
}

if (isMainThread) {
  const wrong = [];
  let [left, computed, busy] = [Number(process.argv[2]), 0, true];
  const lane = async () => {
    while (left-- > 0) {
      const worker = new Worker(new URL(import.meta.url));
      worker.on('error', (error) => wrong.push(String(error)));
      // One ends while it starts, the next while it works.
      if (left % 2 === 0) {
        await once(worker, 'message');
        computed++;
      }
      await setTimeout(Math.random() * LONGEST_MS);
      await worker.terminate();
    }
  };
  const meanwhile = async () => {
    for (let round = 0; busy; round++) await Promise.all([work(round), setTimeout(20)]);
  };
  const using = meanwhile();
  await Promise.all([lane(), lane(), lane()]);
  busy = false;
  await using;
  const { counters } = await jitCache().stats();
  const { corrupt } = await jitCache().verify();
  const bad = counters.setAside + counters.corrupt + corrupt;
  if (bad > 0) wrong.push(`${bad} entries set aside or corrupt`);
  await jitCache().close();
  const store = process.env.MERCER_CACHE_DIR;
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      if (file.startsWith(store)) wrong.push(`${file} is open`);
    } catch {
      // the descriptor of the listing itself
    }
  }
  console.log(JSON.stringify({ wrong, computed }));
} else {
  for (let round = 0; ; round++) {
    await work(round);
    parentPort.postMessage('');
  }
}
