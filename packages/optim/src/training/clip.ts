import { div, gt, lt, mul, select, sqrt, variable } from '@mercer/formula';
import { map, MercerError, type Pending, type Tensor } from '@mercer/tensor';
import { pendingOf, totals } from '@mercer/tensor/operation';
import { checkNumber } from '../checks.js';
import { SQUARES } from '../measure.js';
import { FLOATING, namedLeaves } from '../tree.js';

const norm = sqrt(variable('squares'));
const most = variable('most');
const factor = select(lt(norm, Infinity), select(gt(norm, most), div(most, norm), 1), 1);
const TOTALS = { terms: SQUARES, results: { norm, narrow: factor, wide: factor } };
const SCALED = mul(variable('g'), variable('factor'));

/**
 * Scales gradients in place, so that the norm of all together is at most `maxNorm` (Pascanu et al. 2013). Optimisers do the same without writing gradients where
 * they are given `maxGradNorm`.
 *
 * ```ts
 * import { clipByGlobalNorm } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const grads = { w: await tensor([3, 0], { device: 'cpu' }), b: await tensor(4, { device: 'cpu' }) };
 * using norm = await clipByGlobalNorm(grads, 1);
 * console.log(await norm.item(), (await grads.b.item()).toFixed(2)); // 5 0.80
 * ```
 *
 * @returns the norm before, 0-d in float64, which the caller disposes. Where it is NaN or infinite nothing is scaled, so that what is not finite stays to be found
 * @throws MercerError INVALID_ARGUMENT, DISPOSED
 */
export function clipByGlobalNorm(grads: unknown, maxNorm: number): Pending<Tensor<'float64'>> {
  return pendingOf(() => clipped(grads, maxNorm));
}

async function clipped(grads: unknown, maxNorm: number): Promise<Tensor<'float64'>> {
  const what = 'clipByGlobalNorm';
  checkNumber(maxNorm, what, 'maxNorm');
  const named = await namedLeaves(grads, 'grads');
  for (const { tensor } of named) {
    if (FLOATING.has(tensor.dtype)) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: grads has ${tensor.label}. Pass gradients of floating point.`,
    );
  }
  const leaves = named.map(({ tensor }) => tensor);
  if (leaves.length === 0) {
    throw new MercerError('INVALID_ARGUMENT', `${what}: grads has no tensor. Pass one or more.`);
  }
  const made = await totals(TOTALS, leaves, {
    parameters: { most: maxNorm },
    dtype: { narrow: 'float32' },
  });
  using narrow = made['narrow'] as Tensor;
  using wide = made['wide'] as Tensor;
  const factor = leaves.map(({ dtype }) => (dtype === 'float64' ? wide : narrow));
  const found = made['norm'] as Tensor<'float64'>;
  try {
    await map(SCALED, { g: leaves, factor }, { out: leaves });
    return found;
  } catch (error) {
    found.dispose();
    throw error;
  }
}
