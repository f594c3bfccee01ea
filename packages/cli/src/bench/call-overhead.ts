import { cdist, tensor, type Device, type Stream } from '@mercer/core';
import type { CallOverhead } from './bench-report.js';
import { spreadOf } from './statistics.js';

const ROUNDS = 200;
const WARM_UP_ROUNDS = 60;
/** Calls of one round: few enough that no queue fills. */
const CALLS = 32;

/**
 * Microseconds that one steady call of a tiny problem takes in JavaScript, from call to return,
 * with room in the queue and its output given; the device works on behind it. Median over rounds.
 */
export async function callOverhead(device: Device): Promise<CallOverhead> {
  const a = await tensor(new Float32Array(8 * 16), { shape: [8, 16], device });
  const prepared = await cdist.prepare(a, a, { p: 2 });
  const out = prepared(a, a);
  const stream = device.defaultStream;
  const preparedUs = await medianUs(stream, () => {
    for (let i = 0; i < CALLS; i++) prepared(a, a, { out });
  });
  const preparedNewUs = await medianUs(stream, () => {
    for (let i = 0; i < CALLS; i++) prepared(a, a).dispose();
  });
  const awaitedUs = await medianUs(stream, async () => {
    for (let i = 0; i < CALLS; i++) await cdist(a, a, { p: 2, out });
  });
  for (const used of [a, out]) used.dispose();
  return { preparedUs, preparedNewUs, awaitedUs, calls: ROUNDS * CALLS };
}

/** Median time of one call over rounds of calls that start with an idle stream. */
async function medianUs(stream: Stream, round: () => void | Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < WARM_UP_ROUNDS + ROUNDS; i++) {
    await stream.synchronize();
    const start = performance.now();
    const returned = round();
    if (returned instanceof Promise) await returned;
    if (i >= WARM_UP_ROUNDS) times.push(performance.now() - start);
  }
  return (spreadOf(times).median / CALLS) * 1e3;
}
