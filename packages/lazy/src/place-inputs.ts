import { tensor, type DeviceLike, type Tensor, type WorkOptions } from '@mercer/tensor';
import type { Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import { viewAfter } from './view-step.js';

/** Where host data goes. */
export interface Placement extends WorkOptions {
  readonly device: DeviceLike | undefined;
  readonly dtype: LazyDType;
}

/**
 * The inputs at the used places as matrices (..batch, rows, dim), undefined elsewhere. Tensors that had to be made, views
 * among them, are pushed to `made`, whose owner disposes them.
 */
export async function placeInputs(
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  placement: Placement,
  made: Tensor[],
): Promise<(Tensor | undefined)[]> {
  const placed: (Tensor | undefined)[] = [];
  for (const [place, one] of inputs.entries()) {
    placed.push(used.has(place) ? await placeInput(one, placement, made) : undefined);
  }
  return placed;
}

async function placeInput(one: Input, placement: Placement, made: Tensor[]): Promise<Tensor> {
  const { source } = one;
  if (source.kind === 'tensor') return matrixView(one, source.tensor, made);
  if (source.kind === 'placeholder') throw new Error('a placeholder is bound before it is placed');
  const placed = await tensor(source.data, placement);
  made.push(placed);
  return matrixView(one, placed, made);
}

/** The tensor of an input as (..batch, rows, dim). */
export function matrixView({ steps }: Input, x: Tensor, made: Tensor[]): Tensor {
  if (steps.length === 0) return x;
  const view = viewAfter(x, steps);
  made.push(view);
  return view;
}
