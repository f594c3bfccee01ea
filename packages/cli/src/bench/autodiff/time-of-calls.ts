import type { Device } from '@mercer/core';
import { spreadOf, type Spread } from '../statistics.js';
import { measureCalls } from '../timer.js';

const MAX_SECONDS = 5;

/** Microseconds of one of `count` calls that follow one another without waiting. */
export async function timeOfCalls(
  device: Device,
  count: number,
  call: () => Promise<void>,
  warmMs?: number,
): Promise<Spread> {
  const times = await measureCalls(
    device,
    MAX_SECONDS,
    async () => {
      for (let n = 0; n < count; n++) await call();
    },
    warmMs,
  );
  return spreadOf(times.map((ms) => (ms * 1e3) / count));
}
