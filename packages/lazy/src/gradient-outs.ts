import type { Reduction } from '@mercer/formula';
import {
  device as deviceOf,
  isTensor,
  type Device,
  type ShardOptions,
  type Stream,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import {
  checkOut,
  checkShardOptions,
  cutsRows,
  formulasOf,
  type MemoryView,
} from '@mercer/tensor/operation';
import { describeValue, own } from '@mercer/options';
import { gradientShape, type Differentiated } from './derivatives.js';
import type { Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { pairCall, type PairCall } from './pair-call.js';
import { readsRows } from './row-reader.js';
import type { ReductionGroup } from './shards/reduction-group.js';
import { checkShardedOuts } from './shards/sharded-reductions.js';
import { asOut, asTensors, checkOuts, NO_RESULTS, wantedResults, type Results } from './results.js';
import type { SavedForward } from './saved-results.js';

/** Where a gradient is to go. */
export interface GradientOut {
  readonly by: Input;
  readonly out: Tensor | undefined;
  /** How messages call it, where there are several. */
  readonly name?: string | undefined;
}

/** Where the results of a call are to go, and what else it reads. */
export interface GradientOuts {
  readonly gradients: readonly GradientOut[];
  readonly value?: Results | undefined;
  readonly saved?: SavedForward | undefined;
  readonly stream?: Stream | undefined;
  /** How rows are cut, if they are. */
  readonly shards?: ShardOptions | undefined;
  /** The processes that rows are spread over, if they are. */
  readonly group?: ReductionGroup | undefined;
}

/**
 * Checks the tensors that a caller gave for gradients, and for the value beside them, before anything is computed. Gives what
 * the call computes with.
 *
 * @throws MercerError as `checkOut` does
 */
export function checkGradientOuts(
  what: string,
  { task, cotangent }: Differentiated,
  outs: GradientOuts,
): Pick<PairCall, 'sizes'> & { readonly device: Device | undefined } {
  const {
    gradients,
    stream,
    shards = {},
    group,
    ...given
  } = own(outs, 'gradients', 'value', 'saved', 'stream', 'shards', 'group');
  const { value = NO_RESULTS, saved = {} } = given;
  const inputs = [...task.inputs, ...(cotangent === undefined ? [] : [cotangent])];
  const reductions = [task.reduction] as const;
  const values = asTensors(reductions, [value]);
  const all = [...values, ...gradients.map(({ out }) => out)];
  const isCut = cutsRows(shards) || readsRows(inputs, []) || group !== undefined;
  const devices = checkShardOptions(what, shards);
  const known = isCut ? (devices?.[0] ?? group?.device ?? deviceAmong(inputs, all)) : undefined;
  const where = { outs: isCut ? [] : all, stream, device: known, dtype: undefined };
  const anywhere = isCut ? inputs.map((one) => ({ ...one, device: undefined })) : inputs;
  const call = pairCall(what, formulasOf(reductions), anywhere, where);
  const read = [
    ...inputs.map(({ source }) => (source.kind === 'tensor' ? source.tensor : undefined)),
    ...Object.values(own(saved, 'values', 'indices')),
  ].filter((one) => one !== undefined);
  const valueTask = { what, reductions, inputs, names: ['value'] };
  const wanted = wantedResults(reductions, call);
  const taken: MemoryView[] = isCut
    ? [...checkShardedOuts(valueTask, wanted, values, read, call.device)]
    : [...checkOuts(valueTask, call, wanted, values, read)];
  for (const { by, out, name } of gradients.map((one) => own(one, 'by', 'out', 'name'))) {
    if (out === undefined) continue;
    const label = name === undefined ? what : `${what}: ${name}`;
    const { sizes } = call;
    const device = isCut && out.device.kind === 'cpu' ? out.device : call.device;
    checkOut(out, { shape: gradientShape(by), dtype: sizes.dtype, device }, taken, label);
    taken.push(out);
  }
  // Where devices are named they say where it is computed.
  return devices === undefined ? call : { ...call, device: undefined };
}

const deviceAmong = (inputs: readonly Input[], outs: readonly (Tensor | undefined)[]): Device =>
  inputs.find((one) => one.device !== undefined)?.device ??
  outs.find((one) => one !== undefined)?.device ??
  deviceOf();

/** Copies results into the tensors that a caller gave for them, where there are any. Gives the results of the call. */
export async function delivered(
  results: readonly Tensor[],
  outs: readonly (Tensor | undefined)[],
  { stream, signal }: WorkOptions,
): Promise<readonly Tensor[]> {
  const ends: Tensor[] = [];
  try {
    for (const [at, one] of results.entries()) {
      const out = outs[at];
      ends.push(out === undefined ? one : await out.copyFrom(one, { stream, signal }));
      if (out !== undefined) one.dispose();
    }
    return ends;
  } catch (error) {
    for (const one of results) one.dispose();
    throw error;
  }
}

/** What a caller gave as `{ value, gradients }`, by place. @throws LazyError, MercerError INVALID_ARGUMENT */
export function namedOuts(
  what: string,
  reduction: Reduction,
  names: readonly string[],
  out: unknown,
): {
  readonly value: Results | undefined;
  readonly gradients: readonly (Tensor | undefined)[];
} {
  const { value, gradients = {} } = partsOf(what, 'out', out, ['value', 'gradients']);
  const given = partsOf(what, 'out.gradients', gradients, names);
  return {
    value: asOut(`${what}: value`, reduction, value),
    gradients: names.map((name) => given[name] as Tensor | undefined),
  };
}

/** An object with some of these parts. @throws LazyError INVALID_ARGUMENT */
export function partsOf(
  what: string,
  place: string,
  out: unknown,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  const wanted = `{ ${names.join(', ')} }`;
  if (typeof out !== 'object' || out === null || isTensor(out)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${place} is ${isTensor(out) ? 'a tensor' : describeValue(out)}. Pass an object with some of ${wanted}.`,
    );
  }
  const other = Object.keys(out).find((name) => !names.includes(name));
  if (other === undefined) return own(out as Readonly<Record<string, unknown>>, ...names);
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${place} has '${other}', and there is ${wanted}. Pass tensors under these names.`,
  );
}
