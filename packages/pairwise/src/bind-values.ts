import type { Tensor, WorkOptions } from '@mercer/tensor';
import {
  bindParameter,
  readableParameter,
  type BoundParameter,
  type ParameterHome,
} from './kernel-parameter.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import { readableScale, type ScaleHome } from './row-scale.js';
import type { ParameterValue } from './run-kernel-options.js';

/** What a launch is given by name. */
export interface LaunchValues {
  readonly pointers: Record<string, BoundParameter['pointer']>;
  readonly scalars: Record<string, number>;
}

interface ValueNames {
  readonly at: string;
  readonly stride: string;
  readonly value: string;
}

/** The names that kernels know a parameter by. */
const names = new Map<string, ValueNames>();

function namesOf(name: string): ValueNames {
  let known = names.get(name);
  if (known === undefined) {
    known = { at: `${name}At`, stride: `${name}Stride`, value: `${name}Value` };
    names.set(name, known);
  }
  return known;
}

/**
 * Binds the parameters of the problem and of the diagonal, and adds them to the values of a launch.
 *
 * @throws MercerError as `bindParameter` does
 */
export function bindValues(
  { what, parameters, diagonal }: PairwiseSpec,
  home: ParameterHome,
  launch: LaunchValues,
): void {
  for (const { name, label, value } of parameters) {
    put(launch, name, bindParameter(what, label, value, home));
  }
  if (diagonal === undefined) return;
  put(launch, REGULARIZATION, bindParameter(what, REGULARIZATION, diagonal.value, home));
  launch.scalars['diagonalOffset'] = diagonal.offset;
}

const REGULARIZATION = 'regularization';

function put({ pointers, scalars }: LaunchValues, name: string, bound: BoundParameter): void {
  const { at, stride, value } = namesOf(name);
  pointers[at] = bound.pointer;
  scalars[stride] = bound.stride;
  scalars[value] = bound.value;
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
  options: WorkOptions,
): Promise<PairwiseSpec> {
  const read = (label: string, value: ParameterValue): Promise<ParameterValue> =>
    readableParameter(spec.what, label, value, home, copies, options);
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
  const readable = scale && (await readableScale(spec.what, scale, home, copies, options));
  return {
    ...spec,
    parameters,
    diagonal: regularization,
    rows: rows && { ...rows, scale: readable },
  };
}
