import type { Scalars } from '@mercer/kernels';
import type { StreamOption, Tensor } from '@mercer/tensor';
import {
  bindParameter,
  readableParameter,
  type BoundParameter,
  type ParameterHome,
} from './kernel-parameter.js';
import type { Pointers } from './pairwise-program.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import { readableScale, type ScaleHome } from './row-scale.js';
import type { ParameterValue } from './run-kernel-options.js';

/** The parameters of a call by the names that kernels know. */
export interface BoundValues {
  readonly pointers: Pointers;
  readonly scalars: Scalars;
}

/**
 * Binds the parameters of the problem and of the diagonal.
 *
 * @throws MercerError as `bindParameter` does
 */
export function bindValues(spec: PairwiseSpec, home: ParameterHome): BoundValues {
  const pointers: Record<string, BoundParameter['pointer']> = {};
  const scalars: Record<string, number> = {};
  const put = (name: string, bound: BoundParameter): void => {
    pointers[`${name}At`] = bound.pointer;
    scalars[`${name}Stride`] = bound.stride;
    scalars[`${name}Value`] = bound.value;
  };
  for (const { name, label, value } of spec.parameters) {
    put(name, bindParameter(spec.what, label, value, home));
  }
  if (spec.diagonal !== undefined) {
    const { value, offset } = spec.diagonal;
    put('regularization', bindParameter(spec.what, 'regularization', value, home));
    scalars['diagonalOffset'] = offset;
  }
  return { pointers, scalars };
}

/**
 * The same call with copies of those tensors that a kernel cannot read as they lie; they are pushed to `copies`.
 *
 * @throws MercerError as `bindParameter` does, before anything is copied for the tensor at fault
 */
export async function readableValues(
  spec: PairwiseSpec,
  home: ScaleHome,
  copies: Tensor[],
  stream: StreamOption,
): Promise<PairwiseSpec> {
  const read = (label: string, value: ParameterValue): Promise<ParameterValue> =>
    readableParameter(spec.what, label, value, home, copies, stream);
  const { diagonal, rows } = spec;
  const parameters: NamedValue[] = [];
  // One after the other: a failure finds every copy made so far in the list.
  for (const named of spec.parameters) {
    parameters.push({ ...named, value: await read(named.label, named.value) });
  }
  const regularization = diagonal && {
    ...diagonal,
    value: await read('regularization', diagonal.value),
  };
  const scale = rows?.scale;
  const readable = scale && (await readableScale(spec.what, scale, home, copies, stream));
  return {
    ...spec,
    parameters,
    ...(regularization && { diagonal: regularization }),
    ...(rows && { rows: { ...rows, scale: readable } }),
  };
}
