import { replaced } from '@mercer/autodiff/transform';
import { add, mul, sub, variable } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import { map, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkFraction } from '../checks.js';
import { gradientsOf, parameterLeaves, type NamedLeaf } from '../tree.js';
import { stateDType } from '../update.js';

/** Options of {@link ema}. */
export interface EmaOptions {
  /** How much of the mean stays at each update; default 0.999. */
  readonly decay?: number | undefined;
}

const EMA_OPTIONS: OptionNames<EmaOptions> = { decay: true };

/** The mean of parameters over the steps of their training: see {@link ema}. */
export interface MovingAverage<T> extends Disposable {
  /** The means, as a tree like that of the parameters: float32, and float64 of float64. */
  readonly params: T;
  /** Moves the means towards parameters, in one launch. @throws MercerError where the tree is another */
  update(params: T): Promise<void>;
}

const [mean, p, decay] = [variable('mean'), variable('p'), variable('decay')];
const NEXT = add(mul(decay, mean), mul(sub(1, decay), p));

/**
 * The exponential moving average of parameters: mean = decay mean + (1 - decay) p at each `update`, from the parameters as they are now.
 *
 * ```ts
 * import { ema } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const params = { w: await tensor([0, 0], { device: 'cpu' }) };
 * using average = await ema(params, { decay: 0.5 });
 * await params.w.fill(4);
 * await average.update(params);
 * console.log(await average.params.w.toNested()); // [ 2, 2 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export async function ema<T>(params: T, options?: EmaOptions): Promise<MovingAverage<T>> {
  const what = 'ema';
  const given = readOptions(what, options, EMA_OPTIONS);
  const kept = checkFraction(given.decay ?? 0.999, what, 'decay');
  const leaves = await parameterLeaves(params, what);
  const means: Tensor[] = [];
  try {
    for (const { tensor } of leaves) means.push(await tensor.cast(stateDType(tensor)));
  } catch (error) {
    for (const one of means) one.dispose();
    throw error;
  }
  const named = leaves.map(({ name }, at): NamedLeaf => ({ name, tensor: means[at] as Tensor }));
  return {
    params: replaced(params, means) as T,
    async update(now) {
      const found = await gradientsOf(named, now, what, 'params');
      await map(NEXT, { mean: means, p: found }, { out: means, parameters: { decay: kept } });
    },
    [Symbol.dispose]() {
      for (const one of means) one.dispose();
    },
  };
}
