import type { ReductionKind } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import type { Pending, Tensor } from '@mercer/tensor';
import {
  LOAD_OPTIONS,
  pendingOf,
  promisesTraced,
  SHARD_OPTIONS,
  shardsOf,
} from '@mercer/tensor/operation';
import { readOptions } from './call-options.js';
import { checkReduction } from './check-reduction.js';
import { cotangentInput, derivativesBy, inputAt, placeOf } from './derivatives.js';
import { checkGradientOuts, delivered } from './gradient-outs.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyFormula } from './lazy-formula.js';
import { LazyReduction } from './lazy-reduction.js';
import type { LazyData } from './make-input.js';
import { checkCompute } from './results.js';
import { runDerivatives } from './run-derivatives.js';
import type { SavedOptions } from './saved-results.js';
import { checkGroup, groupRows } from './shards/reduction-group.js';
import { tablesApart } from './tables-apart.js';
import { holdTraced } from './traced-inputs.js';
import { checkBound } from './transforms.js';

/** Options of `gradient`. */
export interface GradientOptions<D extends LazyDType = LazyDType> extends SavedOptions {
  /** Takes the gradient: the shape of the variable's data, no memory shared with what is read. Any strides will do. */
  readonly out?: Tensor<D> | undefined;
}

const GRADIENT_OPTIONS: OptionNames<GradientOptions> = {
  out: true,
  saved: true,
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  stream: true,
  ranges: true,
  group: true,
  ...SHARD_OPTIONS,
  ...LOAD_OPTIONS,
};

/**
 * The gradient of `sum(cotangent * result)` by a variable of a reduction, where the result is that of Sum, Mean, Var, Prod, LogSumExp,
 * SumSoftMaxWeight, Min, Max, KMin, KMax or a kind with values and indices: of the shape of the variable's data.
 *
 * Batch axes along which the data is broadcast are added up. What the derivative needs of the forward pass is computed, unless
 * `saved` has it. At a tie the first extremum takes it all; where nothing is reduced the gradient is 0. A tensor that is data
 * of an i- and of a j-variable has two gradients, which add up to the whole; rows of other ranges are a variable of their own.
 *
 * Rows that the formula takes of the variable by index (`gather`) count too: the gradient by each such row is summed over the
 * side that the index does not follow, and added to the row of the table. Those of a tensor with several variables count with
 * the first in the formula. A row that the table has not, which makes the value NaN, adds nothing. The gradient by an index is
 * 0. Where an index changes with both sides, the rows of all pairs are added up, some 4 million numbers at a time.
 *
 * `accumulate` and `sumScheme` say how all sums over pairs are added up, those of the gradient and those that it needs of the forward pass.
 * Batch axes and rows by index are added up as ever.
 * `fastMath` is that of reductions, for all passes.
 *
 * With `devices`, `maxBytes` or `onProgress`, or with rows of a file, each pass is cut into blocks of rows as a reduction is, and the gradient is on
 * the first device; progress counts the blocks of each pass. Gradients by values of pairs are dense and have no blocks. With `ranges` they are 0 at pairs
 * outside, and still computed at all pairs.
 *
 * With `group` the rows of the reduced side are spread over processes, as those of a reduction are, and all make this call with the same cotangent. Each has the gradient by rows of its
 * own, and by values of pairs; the gradient by the kept side, a parameter or a table is that of all rows, with the same bits on each. (`grad` differentiates the sum over all processes, in which
 * what they share counts once for each.) Where a call fails on one process alone, the others wait for the group's `timeoutMs`.
 *
 * @param variable what `lazyI`, `lazyJ` or `param` made, or its name; also where it is only a table
 * @param cotangent (..batch, rows, dim), as the result
 * @throws LazyError NOT_DIFFERENTIABLE (indices, masks), UNBOUND_VARIABLE, UNSUPPORTED (blocks of rows where a gradient has a
 * value for every pair), INVALID_ARGUMENT (ranges that do not fit the rows); MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, and for `out` DEVICE_MISMATCH and OVERLAP; `out` is as it was then
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
export function gradient<K extends ReductionKind, D extends LazyDType>(
  of: LazyReduction<K, D>,
  variable: LazyFormula | string,
  cotangent: LazyData,
  given?: GradientOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  const gradients = pendingOf(async (): Promise<Tensor<D>> => {
    const what = 'gradient';
    const { out, group: processes, ...options } = readOptions(what, given, GRADIENT_OPTIONS);
    checkCompute(what, options);
    const group = processes === undefined ? undefined : checkGroup(what, processes, options);
    checkReduction(what, of);
    const { dim } = of;
    checkBound(what, of.inputs);
    const task = tablesApart(of.task);
    const place = placeOf(what, task, variable);
    const by = inputAt(task, place);
    const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
    const { saved, stream, ranges, debug, signal, accumulate, sumScheme, fastMath } = options;
    const shards = shardsOf(options);
    const outs = { gradients: [{ by, out }], saved, stream, shards, group };
    const { device, sizes } = checkGradientOuts(what, whole, outs);
    const made: Tensor[] = [];
    try {
      const spread = group && (await groupRows(what, group, task.reduction, sizes));
      const where = { ...options, device, spread };
      const derivatives = await derivativesBy(what, whole, [place], where, made);
      const compute = { accumulate, sumScheme, fastMath };
      const call = { stream, device, ranges, debug, signal, ...shards, ...compute };
      const { gradients } = await runDerivatives(what, derivatives, [by], undefined, call, spread);
      const [total] = await delivered(gradients, [out], { stream, signal });
      return total as Tensor<D>;
    } finally {
      for (const one of made) one.dispose();
    }
  });
  const isTracedCall = of instanceof LazyReduction && holdTraced(of.inputs, [cotangent]);
  return isTracedCall ? promisesTraced(gradients) : gradients;
}
