import { describeValue } from '@mercer/options';
import { LazyError } from './lazy-error.js';
import { LazyReduction } from './lazy-reduction.js';

/** @throws LazyError INVALID_ARGUMENT for anything but a reduction that is described and not computed */
export function checkReduction(what: string, of: unknown): void {
  if (of instanceof LazyReduction) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the reduction is ${describeValue(of)}. Pass what LazyTensor.reduction or genred(..).reduction gives.`,
  );
}
