import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import { AutodiffError } from './autodiff-error.js';
import { taped, type TensorFunction } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { orZeros } from './trace/handed.js';
import { pullBack } from './trace/pull-back.js';

/** A call whose gradients are taken later, for any cotangents. */
export interface Pulled<G> {
  readonly value: Tensor;
  /**
   * The sum of the value's elements, weighed by a cotangent of its shape, differentiated by the first argument: like the argument, zeros where it has no
   * influence. It may be called again until `dispose()`.
   *
   * @throws MercerError SHAPE_MISMATCH, FREED after `dispose()`, MODIFIED
   */
  readonly pull: (cotangent: Tensor | Pending<Tensor>) => Promise<G>;
  /** Returns what the gradients need. The value stays the caller's. */
  readonly dispose: () => void;
}

/**
 * A function's value with the way back from its elements to its first argument: the product of a cotangent with the matrix of derivatives.
 *
 * ```ts
 * import { vjp } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([1, 2, 3], where);
 * const { value, pull, dispose } = await vjp((w: Tensor<'float32'>) => w.square())(x);
 * console.log(await value.toNested()); // [ 1, 4, 9 ]
 * console.log(await (await pull(await tensor([1, 0, 10], where))).toNested()); // [ 2, 0, 60 ]
 * dispose();
 * ```
 *
 * @throws as {@link grad}, but that the value may have any shape
 */
export function vjp<A extends readonly unknown[]>(
  f: TensorFunction<A>,
): (...args: A) => Promise<Pulled<A[0]>> {
  const what = 'vjp';
  checkFunction(what, f);
  return async (...args) => {
    const call = await taped(what, f, args, 0, false);
    const { tape, source, value, leaves } = call;
    const { shape, label } = value;
    let isFreed = false;
    return {
      value,
      pull: async (cotangent) => {
        if (isFreed) {
          throw new AutodiffError(
            'FREED',
            `${what}: pull was called after dispose(). Call it before, or make another with vjp().`,
          );
        }
        const given = await cotangent;
        checkCotangent(what, given, shape, label);
        const seeds = source === undefined ? [] : [{ source, cotangent: given }];
        const found = await pullBack(
          tape,
          seeds,
          leaves.map((leaf) => leaf.source),
          true,
        );
        const all = await Promise.all(
          leaves.map(async ({ value: x }, at) => orZeros(found[at], x)),
        );
        return call.rebuilt(all);
      },
      dispose: () => {
        isFreed = true;
        tape.dispose();
      },
    };
  };
}

/** @throws MercerError SHAPE_MISMATCH where a cotangent is not of a value's shape */
function checkCotangent(
  what: string,
  given: Tensor,
  shape: readonly number[],
  label: string,
): void {
  const isSame = given.shape.length === shape.length && given.shape.every((n, k) => n === shape[k]);
  if (isSame) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the cotangent has shape ${formatShape(given.shape)}, and the value is ${label}. Pass a cotangent of the value's shape.`,
  );
}
