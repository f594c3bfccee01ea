import { tensor, type WorkOptions } from '@mercer/tensor';
import {
  isRowReader,
  pairOperand,
  type CallSteps,
  type CallView,
  type MemoryView,
  type PairInput,
  type PairSizes,
} from '@mercer/tensor/operation';
import type { Tensor } from '@mercer/tensor';
import type { Input } from './input.js';
import type { PairCall } from './pair-call.js';
import { viewAfter } from './view-step.js';

/** The inputs with data of the host at the used places on the device; what is made is pushed to `made`, whose owner disposes it. */
export async function placedInputs(
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  { sizes: { dtype }, device }: PairCall,
  { stream, signal }: WorkOptions,
  made: Tensor[],
): Promise<readonly Input[]> {
  const placed: Input[] = [];
  for (const [place, one] of inputs.entries()) {
    const { source } = one;
    // rows of a file are brought block by block
    if (source.kind !== 'data' || !used.has(place) || isRowReader(source.data)) {
      placed.push(one);
      continue;
    }
    const x = await tensor(source.data, { device, dtype, stream, signal });
    made.push(x);
    placed.push({ ...one, source: { kind: 'tensor', tensor: x } });
  }
  return placed;
}

/** The tensors of a call: those of its inputs, in their order. */
export const inputTensors = (inputs: readonly Input[]): Tensor[] =>
  inputs.flatMap(({ source }) => (source.kind === 'tensor' ? [source.tensor] : []));

/** An input of a call as (..batch, rows, dim), with values of pairs as (..batch, M, N, dim). */
export interface InputView {
  readonly input: Input;
  readonly view: CallView;
  /** The same for checks of overlap. */
  readonly memory: MemoryView;
}

/**
 * The inputs at the used places, undefined elsewhere; the call has {@link inputTensors}.
 *
 * @throws MercerError DISPOSED, and what `unplaced` makes for data of the host
 */
export function inputViews(
  steps: CallSteps,
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  unplaced: (input: Input) => Error,
): readonly (InputView | undefined)[] {
  let place = 0;
  return inputs.map((input, at): InputView | undefined => {
    const { source, steps: views } = input;
    const own = source.kind === 'tensor' ? place++ : undefined;
    if (!used.has(at)) return undefined;
    if (source.kind !== 'tensor' || own === undefined) throw unplaced(input);
    source.tensor.assertAlive();
    const { shape, strides, offset, dtype, storage, label } = source.tensor;
    const memory = { shape, strides, offset, dtype, storage, label };
    return {
      input,
      view: viewAfter(steps.input(own), views),
      memory: views.length === 0 ? memory : viewAfter(memory, views),
    };
  });
}

/** How many of the last axes of an input are no batch axes. */
export const ownAxes = ({ category }: Pick<Input, 'category'>): 2 | 3 =>
  category === 'pair' ? 3 : 2;

/** An input as kernels read it: where it lies, or a copy, in scratch memory unless `memory` says where. */
export function readable(
  steps: CallSteps,
  { view, input }: InputView,
  sizes: PairSizes,
  memory?: Parameters<CallSteps['readable']>[3],
): PairInput {
  const axes = ownAxes(input);
  return steps.readable(view, (of) => pairOperand(of, sizes, axes), sizes.batchShape, memory, axes);
}
