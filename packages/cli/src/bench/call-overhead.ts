import { cdist, tensor, type Device } from '@mercer/core';
import type { CallOverhead } from './bench-report.js';
import { CALLS_OF_A_ROUND, hostTimeUs } from './host-time.js';

const OPTIONS = { rounds: 200 };

/**
 * Microseconds that one steady call of a tiny problem takes in JavaScript, from call to return,
 * with room in the queue and its output given; the device works on behind it. Median over rounds.
 */
export async function callOverhead(device: Device): Promise<CallOverhead> {
  const a = await tensor(new Float32Array(8 * 16), { shape: [8, 16], device });
  const prepared = await cdist.prepare(a, a, { p: 2 });
  const out = prepared(a, a);
  const into = (): void => {
    prepared(a, a, { out });
  };
  const anew = (): void => {
    prepared(a, a).dispose();
  };
  const awaited = async (): Promise<void> => {
    await cdist(a, a, { p: 2, out });
  };
  const { median: preparedUs } = await hostTimeUs(device, into, OPTIONS);
  const { median: preparedNewUs } = await hostTimeUs(device, anew, OPTIONS);
  const { median: awaitedUs } = await hostTimeUs(device, awaited, OPTIONS);
  for (const used of [a, out]) used.dispose();
  const calls = OPTIONS.rounds * CALLS_OF_A_ROUND;
  return { preparedUs, preparedNewUs, awaitedUs, calls };
}
