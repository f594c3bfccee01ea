import { replaced } from '@mercer/autodiff/transform';
import type { Tree } from '@mercer/autodiff';
import { add, div, eq, select, variable } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { full, map, MercerError, zeros, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions } from '@mercer/tensor/operation';
import { assertStateOf, NamedState, optionsOf, withOptions, wrongState } from '../optimiser-of.js';
import type { Optimiser, OptimiserState, StepReport } from '../optimiser.js';
import { partOf } from '../state-parts.js';
import { assertApart, gradientsOf, parameterLeaves, type NamedLeaf } from '../tree.js';
import { inTurn } from '../turns.js';
import { stateDType } from '../update.js';

/** Options of {@link accumulate}. */
export interface AccumulateOptions {
  /** Calls of `step` whose gradients are one step together. */
  readonly every: number;
}

const ACCUMULATE_OPTIONS: OptionNames<AccumulateOptions> = { every: true };

const SLOT = 'accumulated';
const [sum, g] = [variable('sum'), variable('g')];
/** Begun anew in the first of the calls. */
const SUM = add(select(eq(variable('first'), 1), 0, sum), div(g, variable('every')));

const accumulators = new WeakSet<Optimiser>();

/**
 * An optimiser that takes a step with the mean of the gradients of several calls: a batch in parts. The other calls change no parameter, and report that
 * nothing was skipped. Schedules are given the steps that are taken. Where the call that would take a step is refused the sums stay, and it can be called again.
 *
 * ```ts
 * import { accumulate, sgd } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const w = await tensor([1], where);
 * const optimiser = accumulate(sgd({ lr: 1 }), { every: 2 });
 * using state = await optimiser.init(w);
 * await optimiser.step(w, await tensor([1], where), state);
 * await optimiser.step(w, await tensor([2], where), state);
 * console.log(await w.toNested()); // [ -0.5 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps also CAPTURED inside a function that `prepare` captures, since which call it is decides what is done
 */
export function accumulate(optimiser: Optimiser, options: AccumulateOptions): Optimiser {
  const what = 'accumulate';
  const { every } = readOptions(what, options, ACCUMULATE_OPTIONS);
  if (!(Number.isSafeInteger(every) && every > 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: every is ${describeValue(every)}. Pass a whole number from 1 on.`,
    );
  }
  if (typeof (optimiser as Partial<Optimiser> | undefined)?.step !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the optimiser is ${describeValue(optimiser)}. Pass one, such as adam(), and then { every }.`,
    );
  }
  if (accumulators.has(optimiser)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${optimiser.name} accumulates itself. Pass the optimiser in it, with the product of both every.`,
    );
  }
  const name = `${what}(${optimiser.name})`;
  const accumulating: Optimiser = {
    name,
    async init(params) {
      const leaves = await parameterLeaves(params, name);
      const inner = await optimiser.init(params);
      const tensors = new Map(inner.tensors);
      try {
        for (const { name: path, tensor } of leaves) {
          const { shape, device } = tensor;
          tensors.set(
            `${path}/${SLOT}`,
            await zeros([...shape], { dtype: stateDType(tensor), device }),
          );
        }
      } catch (error) {
        for (const one of tensors.values()) one.dispose();
        throw error;
      }
      return new NamedState(name, tensors);
    },
    step: (params, grads, state, extras) =>
      inTurn(state, name, () => take(params, grads, state, extras)),
    refresh: (params, state) =>
      inTurn(state, name, async () => {
        sumsOf(await parameterLeaves(params, name), state, name);
        return optimiser.refresh(params, innerOf(state));
      }),
  };
  const innerOf = (state: OptimiserState): OptimiserState =>
    partOf(
      state,
      what,
      optimiser.name,
      () => new Map([...state.tensors].filter(([one]) => !one.endsWith(`/${SLOT}`))),
    );
  const take: Optimiser['step'] = async (params, grads, state, extras): Promise<StepReport> => {
    assertNotPreparing(name, 'counts its calls');
    const leaves = await parameterLeaves(params, name);
    const gradients = await gradientsOf(leaves, grads, name);
    const sums = sumsOf(leaves, state, name);
    const calls = state.step + 1;
    const first = (calls - 1) % every === 0 ? 1 : 0;
    assertApart(leaves, gradients, name);
    const parameters = { every, first };
    if (calls % every !== 0) {
      await map(SUM, { sum: sums, g: gradients }, { out: sums, parameters });
      state.step = calls;
      const [{ tensor }] = leaves as readonly [NamedLeaf];
      return { skipped: await full([], 0, { dtype: 'int32', device: tensor.device }) };
    }
    const inner = innerOf(state);
    const before = calls / every - 1;
    inner.step = before;
    // not into the sums: a step that is refused can be taken again
    const means = await map(SUM, { sum: sums, g: gradients }, { parameters });
    try {
      return await optimiser.step(params, replaced(params, means) as Tree, inner, extras);
    } finally {
      for (const one of means) one.dispose();
      if (inner.step > before) state.step = calls;
    }
  };
  accumulators.add(accumulating);
  return withOptions(accumulating, { every, of: optionsOf(optimiser) });
}

/** The sums of a state. @throws OptimError WRONG_STATE */
function sumsOf(
  leaves: readonly NamedLeaf[],
  state: OptimiserState,
  what: string,
): readonly Tensor[] {
  assertStateOf(what, state);
  return leaves.map(({ name, tensor }) => {
    const found = state.tensors.get(`${name}/${SLOT}`);
    if (found !== undefined && String(found.shape) === String(tensor.shape)) return found;
    throw wrongState(
      what,
      `${name}/${SLOT} is ${found === undefined ? 'missing' : found.label}, and ${name} is ${tensor.label}`,
    );
  });
}
