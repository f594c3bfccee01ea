import type { Device } from '@mercer/core';
import { asMany } from './measuring-time.js';
import { spreadOf, type Spread } from './statistics.js';

const WARM_UP = { rounds: 60, ms: 500 } as const;
/** Calls of one round: few enough that no queue fills. */
export const CALLS_OF_A_ROUND = 32;

/** How the host time of calls is taken. */
export interface HostTimeOptions {
  readonly rounds: number;
  /** Calls of a round, 32 without it: few enough that no queue fills. */
  readonly calls?: number;
  /** Rounds that only warm up: so many at least, and for so long. 60 rounds and half a second without it. */
  readonly warmUp?: { readonly rounds: number; readonly ms: number };
  /** Called before the calls of a round, when the device is idle. */
  readonly before?: (() => void) | undefined;
}

/**
 * Microseconds of host time that one call takes, from the call until it has returned or its promise has resolved, over rounds of
 * calls. The device works on behind them; every round begins when it is idle. The first rounds are not counted: JavaScript is
 * compiled while it runs, and that of a long call only after some thousand calls.
 */
export async function hostTimeUs(
  device: Device,
  call: () => void | Promise<void>,
  { rounds, calls = CALLS_OF_A_ROUND, warmUp = WARM_UP, before }: HostTimeOptions,
): Promise<Spread> {
  const times: number[] = [];
  const inRound = asMany(calls);
  const began = performance.now();
  let round = -asMany(warmUp.rounds);
  while (round < asMany(rounds)) {
    if (round === 0 && performance.now() - began < asMany(warmUp.ms)) round--;
    await device.synchronize();
    before?.();
    const start = performance.now();
    for (let n = 0; n < inRound; n++) {
      const returned = call();
      if (returned instanceof Promise) await returned;
    }
    if (round >= 0) times.push(((performance.now() - start) / inRound) * 1e3);
    round++;
  }
  await device.synchronize();
  return spreadOf(times);
}
