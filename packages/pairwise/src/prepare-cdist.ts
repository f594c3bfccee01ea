import type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
import { assertTensor, empty, MercerError, type OutOption, type Tensor } from '@mercer/tensor';
import { checkNorm, type CdistOptions } from './cdist-options.js';
import { cdistProblem } from './cdist-problem.js';
import {
  inputOperand,
  outOperand,
  pairwiseScalars,
  pairwiseShape,
  type Operand,
  type PairwiseShape,
} from './operands.js';
import { launchProgram, loadProgram, type LoadedProgram } from './pairwise-program.js';
import { rememberPlan } from './plan-of.js';

/** Options of `cdist.prepare`; `out` is an example whose layout the prepared function writes. */
export type PrepareCdistOptions<D extends PairwiseDType> = Omit<CdistOptions<D>, 'device'>;

/**
 * A distance whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and returns the result. dtype,
 * device, layouts, the number of features K, p and skipEpilogue are fixed; M, N and the batch are free.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws MercerError as `cdist` does, and NOT_CONTIGUOUS where a layout differs from the prepared one
 */
export interface PreparedCdist<D extends PairwiseDType> {
  (a: Tensor<D>, b: Tensor<D>, options?: OutOption<D>): Tensor<D>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: PairwisePlan;
}

/** Prepares a distance for tensors like `a` and `b`, which are examples: only their type, layout and sizes are read. */
export type PrepareCdist = <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: PrepareCdistOptions<NoInfer<D>>,
) => Promise<PreparedCdist<D>>;

/** Implements `cdist.prepare`. */
export const prepareCdist: PrepareCdist = async <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<D>,
  options: PrepareCdistOptions<D> = {},
): Promise<PreparedCdist<D>> => {
  const { p = 2, skipEpilogue = false, debug } = options;
  checkNorm(p);
  const example = bind(a, b, options.out);
  const { shape } = example;
  const load = (operands: Operands): Promise<LoadedProgram> =>
    loadProgram(shape.device, cdistProblem(shape, operands, p, skipEpilogue), debug);
  // A later call may bring addresses that are not multiples of 16 bytes: its kernel is loaded as well.
  const loose = unaligned(example.operands);
  const [aligned, fallback] = await Promise.all([load(example.operands), load(loose)]);

  const run = (x: Tensor<D>, y: Tensor<D>, { out, stream }: OutOption<D> = {}): Tensor<D> => {
    const call = bind(x, y, out, example.operands);
    checkPrepared(call, example);
    const target = out ?? newOutput<D>(call.shape, stream);
    if (target.size === 0) return target;
    const [left, right, result] = call.operands;
    const fits = call.operands.every(
      (operand, i) => operand.aligned || !example.operands[i]?.aligned,
    );
    const program = fits ? aligned : fallback;
    try {
      const scalars = pairwiseScalars(call.shape, left, right, result, p);
      const queue = stream ?? shape.device.defaultStream;
      launchProgram(program, queue, [x, y, target], scalars);
    } catch (error) {
      if (out === undefined) target.dispose();
      throw error;
    }
    rememberPlan(target, program.plan);
    return target;
  };
  return Object.assign(run, { plan: aligned.plan });
};

type Operands = readonly [a: Operand, b: Operand, out: Operand];

interface Call {
  readonly shape: PairwiseShape;
  readonly operands: Operands;
}

/** Checks the tensors of a call; what can be read in several ways is read like the operands of `like`. */
function bind(a: Tensor, b: Tensor, out: Tensor | undefined, like?: Operands): Call {
  assertTensor(a, 'cdist: a');
  assertTensor(b, 'cdist: b');
  const shape = pairwiseShape('cdist', a, b);
  return {
    shape,
    operands: [
      readable('a', a, shape, like?.[0].layout),
      readable('b', b, shape, like?.[1].layout),
      out === undefined
        ? rowMajorOutput(shape)
        : outOperand('cdist', out, shape, [a, b], like?.[2].layout ?? 'row'),
    ],
  };
}

function readable(
  name: string,
  x: Tensor,
  shape: PairwiseShape,
  layout: Operand['layout'] | undefined,
): Operand {
  const operand = inputOperand(x, shape, layout);
  if (operand !== undefined) return operand;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `cdist: ${name}, the ${x.label}, has strides [${x.strides.join(', ')}], which a prepared call cannot read. Pass await ${name}.contiguous(), or use cdist, which copies by itself.`,
  );
}

/** The layout of a result that the call allocates itself. */
function rowMajorOutput({ m, n, dtype }: PairwiseShape): Operand {
  const perVector = dtype === 'float32' ? 4 : 2;
  const aligned = n % perVector === 0;
  return { layout: 'row', leadingStride: n, batchStride: m * n, aligned };
}

function newOutput<D extends PairwiseDType>(
  { outShape, dtype, device }: PairwiseShape,
  stream: OutOption['stream'],
): Tensor<D> {
  return empty(outShape, { dtype, device, stream }) as Tensor<D>;
}

function unaligned([a, b, out]: Operands): Operands {
  return [
    { ...a, aligned: false },
    { ...b, aligned: false },
    { ...out, aligned: false },
  ];
}

const NAMES = ['a', 'b', 'out'] as const;

function checkPrepared(call: Call, example: Call): void {
  const { shape, operands } = call;
  const fixed = example.shape;
  if (shape.dtype !== fixed.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `cdist: prepared for ${fixed.dtype}, called with ${shape.dtype}. Prepare another for ${shape.dtype}.`,
    );
  }
  if (shape.device !== fixed.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `cdist: prepared on ${fixed.device.id}, called with tensors on ${shape.device.id}. Prepare another there.`,
    );
  }
  if (shape.k !== fixed.k) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `cdist: prepared for ${String(fixed.k)} features, called with ${String(shape.k)}. Prepare another for ${String(shape.k)}.`,
    );
  }
  for (const [i, operand] of operands.entries()) {
    const wanted = example.operands[i]?.layout;
    if (operand.layout === wanted) continue;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `cdist: ${NAMES[i] ?? 'operand'} is ${operand.layout}-major and was prepared as ${String(wanted)}-major. Prepare another for this layout.`,
    );
  }
}
