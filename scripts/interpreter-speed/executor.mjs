// One executor of the CPU, which MERCER_CPU names: makes a row's call when told `prepare`, and times it when told `time`.
import { ROWS } from './rows.mjs';

/** @type {(() => Promise<unknown>) | undefined} */
let call;

/** Gives back every tensor in a result. */
function dispose(/** @type {any} */ result) {
  if (typeof result?.dispose === 'function') result.dispose();
  else for (const one of Object.values(result ?? {})) dispose(one);
}

/** Milliseconds of a whole call: checks, allocations and waiting for the result included. */
async function time() {
  if (call === undefined) throw new Error('nothing is prepared');
  const started = performance.now();
  const result = await call();
  await finished(result);
  const elapsed = performance.now() - started;
  dispose(result);
  return elapsed;
}

async function finished(/** @type {any} */ result) {
  const tensors = typeof result?.device === 'object' ? [result] : Object.values(result ?? {});
  for (const one of tensors) await one?.device?.synchronize();
}

process.on('message', async (/** @type {{ row: number, prepare: boolean }} */ { row, prepare }) => {
  if (prepare) call = await ROWS[row]?.prepare();
  const elapsed = await time();
  process.send?.(elapsed);
});
process.send?.('ready');
