import type { PairwisePlan, PairwiseProblem } from '@mercer/kernels';
import { empty, type LoadOptions, type Stream, type Tensor } from '@mercer/tensor';
import { launchProgram, type CallLoadOptions, type LoadedProgram } from '@mercer/tensor/operation';
import { bindValues, type LaunchValues } from './bind-values.js';
import type { Bound, BoundTensors } from './bound-tensors.js';
import {
  outOperand,
  pairwiseScalars,
  problemLayouts,
  type Operand,
  type Operands,
  type PairwiseShape,
} from './operands.js';
import { loadProgram } from './pairwise-program.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { rememberPlan } from './plan-of.js';
import { loadRows, preparedRows, rowsOperand, type LoadedRows } from './row-preparation.js';

/** The kernels of a call on their device. */
export interface LoadedCall {
  readonly main: LoadedProgram<PairwisePlan>;
  readonly rows: { readonly a: LoadedRows; readonly b: LoadedRows } | undefined;
}

/** The problem of a call over operands of these shapes and layouts. */
export function pairwiseProblem(
  spec: PairwiseSpec,
  shape: PairwiseShape,
  operands: Operands,
): PairwiseProblem {
  const { dtype, m, n, k, batch } = shape;
  const { expressions, p, parameters, diagonal } = spec;
  const { inner, outer, reduce } = expressions;
  return {
    inner,
    outer,
    reduce,
    dtype,
    m,
    n,
    k,
    batch,
    ...problemLayouts(spec.align ? operands : unaligned(operands)),
    p,
    parameters: parameters.length > 0 ? parameters.map(({ name }) => name) : undefined,
    symmetric: spec.symmetric,
    diagonal: diagonal?.mode,
  };
}

/** The operands with nothing said about their alignment. */
export function unaligned([a, b, out]: Operands): Operands {
  return [
    { ...a, aligned: false },
    { ...b, aligned: false },
    { ...out, aligned: false },
  ];
}

/**
 * Plans a call and loads its kernels; for a call that is made now they may be interpreted while they are compiled.
 *
 * @throws the compiler's or the loader's error
 */
export async function loadCall(
  spec: PairwiseSpec,
  shape: PairwiseShape,
  operands: Operands,
  { debug, signal }: LoadOptions,
  purpose?: 'call',
): Promise<LoadedCall> {
  const { m, n, k, batch } = shape;
  const countedAs = (values: number): CallLoadOptions => ({
    debug,
    signal,
    values: purpose === undefined ? undefined : values,
  });
  const options = countedAs(m * n * k * batch);
  const [a, b, out] = operands;
  if (spec.rows === undefined) {
    const main = await loadProgram(shape.device, pairwiseProblem(spec, shape, operands), options);
    return { main, rows: undefined };
  }
  const prepared = [rowsOperand(shape), rowsOperand(shape), out] as const;
  const [main, rowsA, rowsB] = await Promise.all([
    loadProgram(shape.device, pairwiseProblem(spec, shape, prepared), options),
    loadRows(spec.rows, shape, m, a, countedAs(m * k * batch)),
    loadRows(spec.rows, shape, n, b, countedAs(n * k * batch)),
  ]);
  return { main, rows: { a: rowsA, b: rowsB } };
}

/**
 * Enqueues a call: the rows are prepared in memory of the call's own where the spec says so, which returns to the pool
 * behind the launches.
 *
 * @throws MercerError as `bindParameter` and `launch` do
 */
export function launchCall(
  loaded: LoadedCall,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  tensors: BoundTensors,
  stream: Stream,
): void {
  const made: Tensor[] = [];
  try {
    const { out } = tensors;
    let { a, b } = tensors;
    if (loaded.rows !== undefined && spec.rows !== undefined) {
      const one = a === b;
      a = preparedRows(loaded.rows.a, spec, shape, shape.m, a, stream, made);
      b = one ? a : preparedRows(loaded.rows.b, spec, shape, shape.n, b, stream, made);
    }
    const { pointers, scalars } = launchArguments(spec, shape, { a, b, out });
    launchProgram(loaded.main, stream, pointers, scalars);
    rememberPlan(out.tensor, loaded.main.plan);
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

/** What the main kernels of a call are launched with. @throws MercerError as `bindParameter` does */
export function launchArguments(
  spec: PairwiseSpec,
  shape: PairwiseShape,
  { a, b, out }: BoundTensors,
): LaunchValues {
  const launch = {
    pointers: { a: a.tensor, b: b.tensor, out: out.tensor },
    scalars: pairwiseScalars(shape, [a.operand, b.operand, out.operand], spec.p ?? 1),
  };
  bindValues(spec, shape, launch);
  return launch;
}

/**
 * Checks an output that the caller gave; it may share memory with no input and no parameter.
 *
 * @throws MercerError as `outOperand` does
 */
export function givenOutput(
  spec: PairwiseSpec,
  shape: PairwiseShape,
  out: Tensor,
  inputs: readonly Tensor[],
  preferred?: Operand['layout'],
): Bound {
  const tensors = parameterTensors(spec);
  const read = tensors.length === 0 ? inputs : [...inputs, ...tensors.map(({ tensor }) => tensor)];
  return { tensor: out, operand: outOperand(spec.what, out, shape, read, preferred) };
}

/** A new row-major output. */
export function newOutput(
  { outShape, dtype, device }: PairwiseShape,
  stream: Stream | undefined,
): Tensor {
  return empty(outShape, { dtype, device, stream });
}
