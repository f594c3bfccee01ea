import type { Device } from '@mercer/core';
import { spreadOf, type Spread } from './statistics.js';

const WARM_UP_ROUNDS = 60;
/** Calls of one round: few enough that no queue fills. */
export const CALLS_OF_A_ROUND = 32;

/** How the host time of calls is taken. */
export interface HostTimeOptions {
  readonly rounds: number;
  /** Called before the calls of a round, when the device is idle. */
  readonly before?: (() => void) | undefined;
}

/**
 * Microseconds of host time that one call takes, from the call until it has returned or its promise has resolved, over rounds of 32
 * calls. The device works on behind them; every round begins when it is idle.
 */
export async function hostTimeUs(
  device: Device,
  call: () => void | Promise<void>,
  { rounds, before }: HostTimeOptions,
): Promise<Spread> {
  const times: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    await device.synchronize();
    before?.();
    const start = performance.now();
    for (let n = 0; n < CALLS_OF_A_ROUND; n++) {
      const returned = call();
      if (returned instanceof Promise) await returned;
    }
    if (round >= 0) times.push(((performance.now() - start) / CALLS_OF_A_ROUND) * 1e3);
  }
  await device.synchronize();
  return spreadOf(times);
}
