import type { PairwisePlan } from '@mercer/kernels';
import {
  MercerError,
  type LoadOptions,
  type OutOption,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { assertTensor } from '@mercer/tensor/operation';
import { checkPreparedFor } from './check-prepared.js';
import { inputOperand, pairwiseShape, type Operand, type PairwiseShape } from './operands.js';
import {
  givenOutput,
  launchCall,
  loadCall,
  newOutput,
  unaligned,
  type LoadedCall,
} from './pairwise-call.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';

/** A call whose kernels are compiled and loaded. */
export interface PreparedCall {
  readonly plan: PairwisePlan;
  /**
   * Checks and enqueues. `spec` is the prepared one, or the same with other values of its parameters; b is undefined where it
   * was at preparation.
   */
  run(
    spec: PairwiseSpec,
    a: Tensor,
    b: Tensor | undefined,
    out: Tensor | undefined,
    stream: Stream | undefined,
  ): Tensor;
}

/** Compiles a call for tensors like these; of `a`, `b` and `out` only type, layout and sizes are read. */
export async function prepareCall(
  spec: PairwiseSpec,
  a: Tensor,
  b: Tensor | undefined,
  { out, debug, signal }: OutOption & LoadOptions,
): Promise<PreparedCall> {
  const example = bind(spec, a, b, out);
  const { shape, operands } = example;
  spec.check?.(shape.dtype);
  // A later call may bring addresses that are not multiples of 16 bytes: its kernel is loaded as well.
  const [aligned, fallback] = await Promise.all([
    loadCall(spec, shape, operands, { debug, signal }),
    loadCall(spec, shape, unaligned(operands), { debug, signal }),
  ]);
  const run: PreparedCall['run'] = (values, x, y, given, stream) => {
    checkInputs(spec.what, b, y);
    const call = bind(values, x, y, given, operands);
    checkPrepared(spec.what, call, example);
    if (values !== spec) values.check?.(shape.dtype);
    const target = given ?? newOutput(call.shape, stream);
    if (target.size === 0) return target;
    try {
      const [left, right, result] = call.operands;
      const first = { tensor: x, operand: left };
      const tensors = {
        a: first,
        b: y === undefined ? first : { tensor: y, operand: right },
        out: { tensor: target, operand: result },
      };
      const program = chosen(call, example, aligned, fallback);
      launchCall(program, values, call.shape, tensors, stream ?? shape.device.defaultStream);
    } catch (error) {
      if (given === undefined) target.dispose();
      throw error;
    }
    return target;
  };
  return { plan: aligned.main.plan, run };
}

interface Call {
  readonly shape: PairwiseShape;
  readonly operands: readonly [a: Operand, b: Operand, out: Operand];
}

/** Checks the tensors of a call; what can be read in several ways is read like the operands of `like`. */
function bind(
  spec: PairwiseSpec,
  a: Tensor,
  b: Tensor | undefined,
  out: Tensor | undefined,
  like?: Call['operands'],
): Call {
  const { what } = spec;
  assertTensor(a, `${what}: a`);
  if (b !== undefined) assertTensor(b, `${what}: b`);
  const shape = pairwiseShape(what, a, b ?? a, parameterTensors(spec));
  const left = readable(what, 'a', a, shape, like?.[0].layout);
  return {
    shape,
    operands: [
      left,
      b === undefined ? left : readable(what, 'b', b, shape, like?.[1].layout),
      out === undefined
        ? rowMajorOutput(shape)
        : givenOutput(spec, shape, out, [a, b ?? a], like?.[2].layout ?? 'row').operand,
    ],
  };
}

function readable(
  what: string,
  name: string,
  x: Tensor,
  shape: PairwiseShape,
  layout: Operand['layout'] | undefined,
): Operand {
  const operand = inputOperand(x, shape, layout);
  if (operand !== undefined) return operand;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: ${name}, the ${x.label}, has strides [${x.strides.join(', ')}], which a prepared call cannot read. Pass await ${name}.contiguous(), or use ${what}, which copies by itself.`,
  );
}

/** The layout of a result that the call allocates itself. */
function rowMajorOutput({ m, n, dtype }: PairwiseShape): Operand {
  const perVector = dtype === 'float32' ? 4 : 2;
  const aligned = n % perVector === 0;
  return { layout: 'row', leadingStride: n, batchStride: m * n, aligned };
}

function chosen(call: Call, example: Call, aligned: LoadedCall, fallback: LoadedCall): LoadedCall {
  const fits = call.operands.every(
    (operand, i) => operand.aligned || example.operands[i]?.aligned !== true,
  );
  return fits ? aligned : fallback;
}

const NAMES = ['a', 'b', 'out'] as const;

function checkInputs(what: string, example: Tensor | undefined, b: Tensor | undefined): void {
  if ((example === undefined) === (b === undefined)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    example === undefined
      ? `${what}: prepared for one input, called with two. Leave b out, or prepare another with b.`
      : `${what}: prepared for two inputs, called with one. Pass b, or prepare another without it.`,
  );
}

function checkPrepared(what: string, call: Call, example: Call): void {
  const { shape, operands } = call;
  const fixed = example.shape;
  checkPreparedFor(what, shape, fixed);
  if (shape.k !== fixed.k) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: prepared for ${fixed.k} features, called with ${shape.k}. Prepare another for ${shape.k}.`,
    );
  }
  for (const [i, operand] of operands.entries()) {
    const wanted = example.operands[i]?.layout;
    if (operand.layout === wanted) continue;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${what}: ${NAMES[i] ?? 'operand'} is ${operand.layout}-major and was prepared as ${wanted}-major. Prepare another for this layout.`,
    );
  }
}
