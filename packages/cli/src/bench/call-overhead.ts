import { cdist, tensor, type Device, type Stream } from '@mercer/core';
import type { CallOverhead } from './bench-report.js';

const CALLS = 2000;
const WARM_UP = 500;

/**
 * Microseconds that one steady call of a tiny problem takes in JavaScript, from call to return,
 * with room in the queue and its output given; the device works on behind it.
 */
export async function callOverhead(device: Device): Promise<CallOverhead> {
  const a = await tensor(new Float32Array(8 * 16), { shape: [8, 16], device });
  const prepared = await cdist.prepare(a, a, { p: 2 });
  const out = prepared(a, a);
  const stream = device.defaultStream;
  const preparedUs = await busyUs(stream, () => prepared(a, a, { out }));
  const awaitedUs = await busyUs(stream, () => cdist(a, a, { p: 2, out }));
  for (const used of [a, out]) used.dispose();
  return { preparedUs, awaitedUs, calls: CALLS };
}

/** Mean time inside `call`, and until its promise resolves when it returns one. */
async function busyUs(stream: Stream, call: () => unknown): Promise<number> {
  let busyMs = 0;
  for (let i = 0; i < WARM_UP + CALLS; i++) {
    await stream.room();
    const start = performance.now();
    const returned = call();
    if (returned instanceof Promise) await returned;
    if (i >= WARM_UP) busyMs += performance.now() - start;
  }
  await stream.synchronize();
  return (busyMs / CALLS) * 1e3;
}
