import {
  emitPairwiseGradient,
  exchangeOperands,
  gradientBlocking,
  gradientBlocks,
  planPairwiseGradient,
  type ForwardExpressions,
  type PairwiseDType,
  type PairwiseGradientPlan,
  type PairwiseGradientProblem,
  type Scalars,
} from '@mercer/kernels';
import { empty, type Stream, type Tensor } from '@mercer/tensor';
import { launchProgram, loadPlan, type LoadedProgram } from '@mercer/tensor/operation';
import { sumAxis, sumTo, type SumPlace } from './backward-sum.js';
import type { BackwardOperand } from './backward-operands.js';
import { parameterBatch, type BoundParameter } from './kernel-parameter.js';
import type { PairwiseShape } from './operands.js';

/** A parameter of a pairwise kernel, bound, and the shape that its gradient takes. */
export interface BackwardParameter {
  /** Its name in the expressions. */
  readonly name: string;
  readonly bound: BoundParameter;
  /** [] for a number. */
  readonly shape: readonly number[];
}

/** A forward call with its upstream gradient, ready for kernels. */
export interface BackwardCall extends SumPlace {
  readonly stream: Stream;
  readonly shape: PairwiseShape;
  /** Without `parameters`, which come from those below. */
  readonly forward: Omit<ForwardExpressions, 'parameters'>;
  /** The launch scalar p; 0 where the expressions do not read it. */
  readonly p: number;
  readonly parameters: readonly BackwardParameter[];
  readonly a: BackwardOperand;
  readonly b: BackwardOperand;
  readonly gradient: BackwardOperand;
  /** The elements with n = m + offset do not depend on the inputs. */
  readonly maskedDiagonal: number | undefined;
}

type Loaded = LoadedProgram<PairwiseGradientPlan>;

/** The gradient of the rows of a, in a's shape. */
export async function rowsBackward(call: BackwardCall, symmetric = false): Promise<Tensor> {
  const loaded = await load(call, { wrt: 'rows', symmetric });
  const partial = emptyRows(call, loaded.plan.parts);
  return finish(partial, call.a.shape, call, () => {
    launch(loaded, call, partial);
  });
}

/** The gradient of the rows of b, in b's shape. */
export function columnsBackward(call: BackwardCall): Promise<Tensor> {
  return rowsBackward(exchanged(call));
}

/** The gradient of the rows of a where b is a and the kernel is not symmetric: both roles added up. */
export async function bothRolesBackward(call: BackwardCall): Promise<Tensor> {
  const other = exchanged(call);
  const first = await load(call, { wrt: 'rows' });
  const second = await load(other, { wrt: 'rows' });
  const { parts } = first.plan;
  const partial = emptyRows(call, parts + second.plan.parts);
  return finish(partial, call.a.shape, call, () => {
    using head = partial.slice([0, parts]);
    using tail = partial.slice([parts, null]);
    launch(first, call, head);
    launch(second, other, tail);
  });
}

/** The gradients of the named parameters (or of the scalar 'p'), each in its parameter's shape. */
export async function parametersBackward(
  call: BackwardCall,
  names: readonly string[],
): Promise<Map<string, Tensor>> {
  const results = new Map<string, Tensor>();
  if (names.length === 0) return results;
  const { shape, stream } = call;
  const loaded = await load(call, { wrt: names });
  const blocks = gradientBlocks(loaded.plan, shape.m);
  using partial = empty([names.length, ...shape.batchShape, blocks], {
    dtype: 'float64',
    device: shape.device,
    stream,
  });
  try {
    await stream.room({ signal: call.signal });
    launch(loaded, call, partial);
    for (const [index, name] of names.entries()) {
      const own = call.parameters.find((each) => each.name === name)?.shape ?? [];
      const total = await sumTo(
        partial.slice(index),
        [...parameterBatch(own), 1],
        shape.dtype,
        call,
      );
      results.set(name, reshaped(total, own));
    }
    return results;
  } catch (error) {
    for (const tensor of results.values()) tensor.dispose();
    throw error;
  }
}

/** The sum of the upstream gradient over the elements with n = m + offset, in the shape of a parameter. */
export async function diagonalBackward(
  call: BackwardCall,
  offset: number,
  target: readonly number[],
): Promise<Tensor> {
  const { shape, gradient } = call;
  const [row, column] = [Math.max(0, -offset), Math.max(0, offset)];
  const count = Math.max(0, Math.min(shape.m - row, shape.n - column));
  const { rowStride, columnStride, batchStride } = gradient;
  const bytes = shape.dtype === 'float32' ? 4 : 8;
  const first = count === 0 ? 0 : row * rowStride + column * columnStride;
  const source = {
    storage: gradient.tensor.storage,
    byteOffset: gradient.tensor.byteOffset + first * bytes,
    dtype: shape.dtype,
  };
  const { dtype, device, batch } = shape;
  const totals = empty(shape.batchShape, { dtype, device, stream: call.stream });
  const total = await finish(totals, parameterBatch(target), call, () =>
    sumAxis(
      source,
      totals,
      {
        outer: batch,
        count,
        inner: 1,
        strideOuter: batchStride,
        strideCount: rowStride + columnStride,
        strideInner: 1,
      },
      call,
    ),
  );
  return reshaped(total, target);
}

/** A result that is taken over, in another shape. */
function reshaped(total: Tensor, shape: readonly number[]): Tensor {
  using whole = total;
  return whole.reshape(shape);
}

/** The call with the operands in each other's place. */
function exchanged(call: BackwardCall): BackwardCall {
  const { shape, gradient, maskedDiagonal } = call;
  const { rowStride, columnStride } = gradient;
  return {
    ...call,
    shape: { ...shape, m: shape.n, n: shape.m },
    forward: exchangeOperands(call.forward),
    a: call.b,
    b: call.a,
    gradient: { ...gradient, rowStride: columnStride, columnStride: rowStride },
    maskedDiagonal: maskedDiagonal === undefined ? undefined : -maskedDiagonal,
  };
}

function load(
  call: BackwardCall,
  target: Pick<PairwiseGradientProblem, 'wrt' | 'symmetric'>,
): Promise<Loaded> {
  const { shape, forward, parameters } = call;
  const { dtype, m, n, k, batch, device } = shape;
  const problem: PairwiseGradientProblem = {
    ...forward,
    dtype,
    m,
    n,
    k,
    batch,
    ...target,
    parameters: parameters.map(({ name }) => name),
    maskDiagonal: call.maskedDiagonal !== undefined,
  };
  const plan = planPairwiseGradient(problem, device.limits);
  return loadPlan(device, plan, emitPairwiseGradient, {
    debug: call.debug,
    signal: call.signal,
    values: m * n * k * batch,
  });
}

function emptyRows({ shape, stream }: BackwardCall, parts: number): Tensor<PairwiseDType> {
  const { batchShape, m, k, dtype, device } = shape;
  return empty([parts, ...batchShape, m, k], { dtype, device, stream });
}

/** Runs what writes a partial result, then sums that to a shape; takes the partial result over. */
async function finish(
  partial: Tensor<PairwiseDType>,
  target: readonly number[],
  call: BackwardCall,
  write: () => void | Promise<void>,
): Promise<Tensor> {
  try {
    await call.stream.room({ signal: call.signal });
    await write();
  } catch (error) {
    partial.dispose();
    throw error;
  }
  return sumTo(partial, target, call.shape.dtype, call);
}

function launch(loaded: Loaded, call: BackwardCall, out: Tensor): void {
  const { a, b, gradient, parameters, stream } = call;
  const pointers = {
    a: a.tensor,
    b: b.tensor,
    gradient: gradient.tensor,
    out,
    ...Object.fromEntries(parameters.map(({ name, bound }) => [`${name}At`, bound.pointer])),
  };
  launchProgram(loaded, stream, pointers, { ...scalars(call), ...gradientBlocking(loaded.plan) });
}

function scalars(call: BackwardCall): Scalars {
  const { shape, a, b, gradient, p, parameters, maskedDiagonal = 0 } = call;
  const { m, n, k, batch } = shape;
  return {
    m,
    n,
    k,
    batch,
    p,
    diagonalOffset: maskedDiagonal,
    rowStrideA: a.rowStride,
    stepStrideA: a.columnStride,
    batchStrideA: a.batchStride,
    rowStrideB: b.rowStride,
    stepStrideB: b.columnStride,
    batchStrideB: b.batchStride,
    rowStrideG: gradient.rowStride,
    columnStrideG: gradient.columnStride,
    batchStrideG: gradient.batchStride,
    ...Object.fromEntries(
      parameters.flatMap(({ name, bound }) => [
        [`${name}Stride`, bound.stride],
        [`${name}Value`, bound.value],
      ]),
    ),
  };
}
