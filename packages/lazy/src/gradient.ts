import type { ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import { cotangentInput, derivativesBy, inputAt, placeOf, toData } from './derivatives.js';
import { execute } from './execute.js';
import { checkGradientOuts } from './gradient-outs.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyFormula } from './lazy-formula.js';
import type { LazyReduction } from './lazy-reduction.js';
import type { LazyData } from './make-input.js';
import type { SavedOptions } from './saved-results.js';
import { checkBound } from './transforms.js';

/** Options of `gradient`. */
export interface GradientOptions<D extends LazyDType = LazyDType> extends SavedOptions {
  /** Takes the gradient: the shape of the variable's data, no memory shared with what is read. Any strides will do. */
  readonly out?: Tensor<D> | undefined;
}

/**
 * The gradient of `sum(cotangent * result)` by a variable of a reduction, where the result is that of Sum, Mean, Var, Prod, LogSumExp,
 * SumSoftMaxWeight, Min, Max, KMin, KMax or a kind with values and indices: of the shape of the variable's data.
 *
 * Batch axes along which the data is broadcast are added up. What the derivative needs of the forward pass is computed, unless
 * `saved` has it. At a tie the first extremum takes it all; where nothing is reduced the gradient is 0. A tensor that is data
 * of an i- and of a j-variable has two gradients.
 *
 * @param variable what `lazyI`, `lazyJ` or `param` made, or its name
 * @param cotangent (..batch, rows, dim), as the result
 * @throws LazyError NOT_DIFFERENTIABLE (indices, masks), UNBOUND_VARIABLE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, and for
 * `out` DEVICE_MISMATCH and OVERLAP; `out` is as it was then
 *
 * @example
 * ```ts
 * import { gradient, lazyI, lazyJ } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = lazyI(await tensor([[1], [5]], { device: 'cpu' }));
 * const y = lazyJ(await tensor([[1], [2], [3]], { device: 'cpu' }));
 * const energy = x.sqdist(y).reduction('Sum', 'j');
 * const byX = await gradient(energy, x, [[1], [1]]); // 2 sum_j (x - y_j)
 * console.log(await byX.toNested()); // [ [ -6 ], [ 18 ] ]
 * ```
 */
export async function gradient<K extends ReductionKind, D extends LazyDType>(
  of: LazyReduction<K, D>,
  variable: LazyFormula | string,
  cotangent: LazyData,
  { out, ...options }: GradientOptions<NoInfer<D>> = {},
): Promise<Tensor<D>> {
  const what = 'gradient';
  const { task, dim } = of;
  checkBound(what, task.inputs);
  const place = placeOf(what, task, variable);
  const by = inputAt(task, place);
  const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
  const { saved, stream, ranges, debug } = options;
  const { device } = checkGradientOuts(what, whole, { gradients: [{ by, out }], saved, stream });
  const made: Tensor[] = [];
  try {
    const where = { ...options, device };
    const { reductions, inputs } = await derivativesBy(what, whole, [place], where, made);
    const [reduction] = reductions;
    if (reduction === undefined) throw new Error('there is a derivative for each place');
    const call = { stream, device, ranges, debug };
    const { value } = await execute({ what, reduction, inputs }, [], call);
    if (value === undefined) throw new Error('a sum has values');
    made.push(value);
    const total = await toData(value, by, { stream });
    if (out === undefined) return total as Tensor<D>;
    made.push(total);
    return await out.copyFrom(total, { stream });
  } finally {
    for (const one of made) one.dispose();
  }
}
