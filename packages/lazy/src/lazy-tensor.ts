import type { LazyDType } from './lazy-dtype.js';
import { LazyReductions } from './lazy-reductions.js';
import type { Symbolic } from './symbolic.js';

/**
 * A symbolic matrix: for every row i and every row j a vector of `dim` numbers, given by a formula of their data and never
 * stored. Immutable; every method makes another.
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const points = await tensor([[0, 0], [3, 4]], { device: 'cpu' });
 * const distances = lazyI(points).sub(lazyJ(points)).sqnorm2().sqrt();
 * console.log(distances.shape); // [ 2, 2, 1 ]
 * console.log(await (await distances.sum('j')).toNested()); // [ [ 5 ], [ 5 ] ]
 * ```
 */
export class LazyTensor<D extends LazyDType = LazyDType> extends LazyReductions<D> {
  protected override derive(what: string, of: Symbolic): this {
    return new LazyTensor<D>(what, of) as this;
  }
}
