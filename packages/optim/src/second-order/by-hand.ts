import { add, gt, select, variable } from '@mercer/formula';
import { map, Scope, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, isPreparing } from '@mercer/tensor/operation';
import type { OptimiserState } from '../optimiser.js';
import type { Refreshing, RuleRefresh } from '../rule.js';
import type { Frequency } from './options.js';
import { checkFailures, hasBecome, note } from './refreshes.js';

/*
 * Refreshes that the program calls: steps do not count them, so that they can be captured. Whether there was one is known to the device, by the number `refreshes` of the state.
 */

/** The number of the state of an optimiser that is refreshed by hand. */
export const REFRESHES = { refreshes: { shape: [], dtype: 'int32', value: 0 } } as const;

const v = variable;
/** 1 where there was a refresh: a number of the step, of `refreshes`. */
export const IS_REFRESHED = select(gt(v('refreshes'), 0), 1, 0);

/** Refreshes before a step was taken had nothing to compute from. */
const COUNTED = select(gt(v('count'), 0), add(v('refreshes'), 1), v('refreshes'));

const refreshesOf = ({ tensors }: OptimiserState): Tensor => tensors.get('refreshes') as Tensor;

/** Whether there was a refresh, for one that begins: the device is waited for until there was. */
export const wasRefreshed = (state: OptimiserState): Promise<boolean> =>
  hasBecome(state, async () => Number(await refreshesOf(state).item()) > 0);

/**
 * How a rule is refreshed by hand.
 *
 * @param compute enqueues all, and gives the most failures in a row of a matrix
 * @param check throws before anything is written where it cannot
 */
export const byHand = (
  what: string,
  compute: (scope: Scope, now: RuleRefresh) => Promise<Tensor>,
  check?: (now: RuleRefresh) => void,
): Refreshing => ({
  async check(now) {
    check?.(now);
    const { state } = now;
    // captured refreshes report failures, and nothing is read for them
    if (!isPreparing()) await checkFailures(state, what);
  },
  async run(now) {
    using scope = new Scope();
    const { state } = now;
    const failures = await compute(scope, now);
    const refreshes = refreshesOf(state);
    const count = state.tensors.get('count') as Tensor;
    await map(COUNTED, { refreshes, count }, { out: refreshes });
    if (!isPreparing()) note(state, failures.reshape([]));
    return failures;
  },
});

/** That a step does not count refreshes inside a function that is captured. @throws MercerError CAPTURED */
export function assertCapturable(what: string, frequency: Frequency): void {
  if (frequency === 'manual') return;
  assertNotPreparing(
    `${what}: a step with frequency ${frequency} (with 'manual' refreshes are calls of refresh(), between replays)`,
    'counts steps',
  );
}
