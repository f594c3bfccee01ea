import { div, gt, mul, select, sqrt, variable } from '@mercer/formula';
import { map, type Tensor } from '@mercer/tensor';
import { checkNumber } from '../first-order/learning-rate.js';
import { measured } from '../measure.js';
import { namedLeaves } from '../tree.js';

const norm = sqrt(variable('squares'));
const FACTOR = {
  norm,
  factor: select(gt(norm, variable('most')), div(variable('most'), norm), 1),
};
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
 * @returns the norm before, 0-d in float64, which the caller disposes. Where it is NaN nothing is scaled
 * @throws MercerError INVALID_ARGUMENT, DISPOSED
 */
export async function clipByGlobalNorm(
  grads: unknown,
  maxNorm: number,
): Promise<Tensor<'float64'>> {
  const what = 'clipByGlobalNorm';
  checkNumber(maxNorm, what, 'maxNorm');
  const leaves = (await namedLeaves(grads, 'grads')).map(({ tensor }) => tensor);
  const [first] = leaves;
  const { bad, squares } = await measured(leaves, true, what);
  using _bad = bad;
  using _squares = squares as Tensor;
  const made = await map(
    FACTOR,
    { squares: _squares },
    { parameters: { most: maxNorm }, dtype: 'float64' },
  );
  using narrow = await made.factor.cast('float32');
  using wide = made.factor;
  if (first !== undefined) {
    const factor = leaves.map(({ dtype }) => (dtype === 'float64' ? wide : narrow));
    await map(SCALED, { g: leaves, factor }, { out: leaves });
  }
  return made.norm as Tensor<'float64'>;
}
