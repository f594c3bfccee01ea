import type { CdistGradPlan, PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { isTensor, MercerError, type OutOption, type Tensor } from '@mercer/tensor';
import { assertTensor, OUT_OPTION, readOptions } from '@mercer/tensor/operation';
import {
  gradAlignment,
  launchGrad,
  loadGrad,
  newGradOutput,
  type GradAlignment,
} from './weighted-differences-call.js';
import {
  checkGradNorm,
  PREPARE_GRAD_OPTIONS,
  WHAT,
  type WeightedDifferencesOptions,
} from './weighted-differences-options.js';
import {
  gradOperand,
  gradOutput,
  gradShape,
  GRAD_INPUTS,
  type GradInputs,
  type GradOperands,
  type GradOutput,
  type GradShape,
} from './weighted-differences-operands.js';
import { checkPreparedFor } from './check-prepared.js';
import type { Operand } from './operands.js';
import type { ParameterValue } from './run-kernel-options.js';

/** Options of `weightedDifferences.prepare`; `out` is an example whose alignment counts. */
export type PrepareWeightedDifferencesOptions<D extends PairwiseDType> = Omit<
  WeightedDifferencesOptions<D>,
  'device'
>;

/** Options of a prepared call; `p`, only where it was prepared as a tensor, replaces that tensor. */
export interface PreparedWeightedDifferencesOptions<D extends PairwiseDType> extends OutOption<D> {
  readonly p?: Tensor<D> | undefined;
}

const PREPARED_OPTIONS: OptionNames<PreparedWeightedDifferencesOptions<PairwiseDType>> = {
  ...OUT_OPTION,
  p: true,
};

/**
 * A weighted sum of norm derivatives whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and
 * returns the result. dtype, device and p (its number, or that it is a tensor) are fixed; all sizes are free.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws MercerError as `weightedDifferences` does, and NOT_CONTIGUOUS for an input that would have to be copied
 */
export interface PreparedWeightedDifferences<D extends PairwiseDType> {
  (
    a: Tensor<D>,
    b: Tensor<D>,
    c: Tensor<D>,
    d: Tensor<D>,
    options?: PreparedWeightedDifferencesOptions<D>,
  ): Tensor<D>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: CdistGradPlan;
}

/** Prepares a sum for tensors like these, which are examples: only their type, layout and sizes are read. */
export type PrepareWeightedDifferences = <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  c: Tensor<NoInfer<D>>,
  d: Tensor<NoInfer<D>>,
  options?: PrepareWeightedDifferencesOptions<NoInfer<D>>,
) => Promise<PreparedWeightedDifferences<D>>;

/** Implements `weightedDifferences.prepare`. */
export const prepareWeightedDifferences: PrepareWeightedDifferences = async <
  D extends PairwiseDType,
>(
  a: Tensor<D>,
  b: Tensor<D>,
  c: Tensor<D>,
  d: Tensor<D>,
  prepareOptions?: PrepareWeightedDifferencesOptions<D>,
): Promise<PreparedWeightedDifferences<D>> => {
  const options = readOptions(`${WHAT}.prepare`, prepareOptions, PREPARE_GRAD_OPTIONS);
  const { p: norm = 2, debug, signal } = options;
  checkGradNorm(norm);
  const example = bind({ a, b, c, d }, options.out, norm);
  const { shape } = example;
  const wanted = gradAlignment(example.operands, example.output);
  // A later call may bring addresses that are not multiples of 16 bytes: its kernel is loaded as well.
  const [aligned, fallback] = await Promise.all([
    loadGrad(shape, wanted, norm, { debug, signal }),
    loadGrad(shape, UNALIGNED, norm, { debug, signal }),
  ]);
  const run: PreparedWeightedDifferences<D> = Object.assign(
    (x: Tensor<D>, y: Tensor<D>, z: Tensor<D>, w: Tensor<D>, callOptions?: Given<D>): Tensor<D> => {
      const given = readOptions(WHAT, callOptions, PREPARED_OPTIONS);
      const p = normOfCall(norm, given.p);
      const call = bind({ a: x, b: y, c: z, d: w }, given.out, p);
      checkPreparedFor(WHAT, call.shape, shape);
      const target = given.out ?? (newGradOutput(call.shape, given.stream) as Tensor<D>);
      if (target.size === 0) return target;
      try {
        const program = meets(gradAlignment(call.operands, call.output), wanted)
          ? aligned
          : fallback;
        const stream = given.stream ?? shape.device.defaultStream;
        launchGrad(program, { ...call, out: target, p }, stream);
      } catch (error) {
        if (given.out === undefined) target.dispose();
        throw error;
      }
      return target;
    },
    { plan: aligned.plan },
  );
  return run;
};

type Given<D extends PairwiseDType> = PreparedWeightedDifferencesOptions<D>;

const UNALIGNED: GradAlignment = {
  alignedA: false,
  alignedB: false,
  alignedC: false,
  alignedOut: false,
};

function meets(actual: GradAlignment, wanted: GradAlignment): boolean {
  return (
    (actual.alignedA || !wanted.alignedA) &&
    (actual.alignedB || !wanted.alignedB) &&
    (actual.alignedC || !wanted.alignedC) &&
    (actual.alignedOut || !wanted.alignedOut)
  );
}

interface BoundGrad {
  readonly shape: GradShape;
  readonly inputs: GradInputs;
  readonly operands: GradOperands;
  readonly output: GradOutput;
}

/** Checks the tensors of a call. */
function bind(inputs: GradInputs, out: Tensor | undefined, p: ParameterValue): BoundGrad {
  for (const name of GRAD_INPUTS) assertTensor(inputs[name], `${WHAT}: ${name}`);
  const shape = gradShape(inputs, p);
  const read = (name: (typeof GRAD_INPUTS)[number]): Operand => {
    const x = inputs[name];
    const operand = gradOperand(x, shape);
    if (operand !== undefined) return operand;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${WHAT}: ${name}, the ${x.label}, has strides [${x.strides.join(', ')}], which a prepared call cannot read. Pass await ${name}.contiguous(), or use ${WHAT}, which copies by itself.`,
    );
  };
  const operands = { a: read('a'), b: read('b'), c: read('c'), d: read('d') };
  const tensors = GRAD_INPUTS.map((name) => inputs[name]);
  const output =
    out === undefined
      ? rowMajorOutput(shape)
      : gradOutput(out, shape, isTensor(p) ? [...tensors, p] : tensors);
  return { shape, inputs, operands, output };
}

/** The strides of a result that the call allocates itself. */
function rowMajorOutput({ o, n, m, dtype }: GradShape): GradOutput {
  const aligned = m % (dtype === 'float32' ? 4 : 2) === 0;
  return { leadingStride: m, strideO: n * m, batchStride: o * n * m, aligned };
}

function normOfCall(
  prepared: ParameterValue,
  given: Tensor<PairwiseDType> | undefined,
): ParameterValue {
  if (given === undefined) return prepared;
  if (isTensor(prepared) && isTensor(given)) return given;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: prepared for p = ${isTensor(prepared) ? 'a tensor' : String(prepared)}, called with ${isTensor(given) ? `the ${given.label}` : String(given)}. Leave p out, or prepare with a tensor p and pass a tensor.`,
  );
}
