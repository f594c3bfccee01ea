import { dtypeBytes, type PairwiseDType, type Scalars } from '@mercer/kernels';
import {
  broadcastShapes,
  isTensor,
  MercerError,
  rowMajorStrides,
  type Layout,
  type Tensor,
} from '@mercer/tensor';
import { checkOut, collapseBatchStride, commonDevice, formatShape } from '@mercer/tensor/operation';
import { WHAT } from './weighted-differences-options.js';
import { parameterBatch } from './kernel-parameter.js';
import { matrixLayout } from './matrix-layout.js';
import { inputOperand, type MatrixOperand, type PairwiseShape } from './operands.js';
import type { ParameterValue } from './run-kernel-options.js';

/** The inputs by name: a (..., K, M), b (..., N, K), c (..., O, K), d (..., N, M). */
export interface GradInputs {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly c: Tensor;
  readonly d: Tensor;
}

/** Names of the inputs, in their order. */
export const GRAD_INPUTS = ['a', 'b', 'c', 'd'] as const;

/** Sizes of a call; the result is (..., O, N, M). */
export interface GradShape extends PairwiseShape {
  readonly o: number;
}

/** The output as a kernel writes it. */
export interface GradOutput extends Pick<
  MatrixOperand,
  'leadingStride' | 'batchStride' | 'aligned'
> {
  /** Elements between two rows of c. */
  readonly strideO: number;
}

/** The axes of each input: where its sizes must agree. */
const AXES = { a: ['k', 'm'], b: ['n', 'k'], c: ['o', 'k'], d: ['n', 'm'] } as const;

/**
 * Checks the inputs against each other and p's batch axes against theirs.
 *
 * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH or SHAPE_MISMATCH, with the offending values
 */
export function gradShape(inputs: GradInputs, p: ParameterValue): GradShape {
  const dtype = commonDType(inputs);
  const device = commonDevice(
    GRAD_INPUTS.map((name) => inputs[name]),
    WHAT,
  );
  type Size = { readonly extent: number; readonly from: string } | undefined;
  const none: Size = undefined;
  const sizes: Record<'m' | 'n' | 'o' | 'k', Size> = { m: none, n: none, o: none, k: none };
  for (const name of GRAD_INPUTS) {
    const x = inputs[name];
    if (x.rank < 2) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${WHAT}: ${name} has shape ${formatShape(x.shape)} and needs at least two axes, (..., ${AXES[name].join(', ').toUpperCase()}). Reshape it.`,
      );
    }
    AXES[name].forEach((axis, i) => {
      const extent = x.shape[x.rank - 2 + i] ?? 1;
      const from = `${name} ${formatShape(x.shape)}`;
      const known = (sizes[axis] ??= { extent, from });
      if (known.extent === extent) return;
      const big = axis.toUpperCase();
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${WHAT}: ${known.from} has ${big} = ${known.extent} and ${from} has ${big} = ${extent}. The shapes are a (..., K, M), b (..., N, K), c (..., O, K), d (..., N, M).`,
      );
    });
  }
  const batchShape = commonBatch(inputs, p);
  const batch = batchShape.reduce((product, extent) => product * extent, 1);
  const of = (axis: 'm' | 'n' | 'o' | 'k'): number => sizes[axis]?.extent ?? 0;
  const [m, n, o, k] = [of('m'), of('n'), of('o'), of('k')];
  return { dtype, device, m, n, o, k, batchShape, batch, outShape: [...batchShape, o, n, m] };
}

function commonDType({ a, b, c, d }: GradInputs): PairwiseDType {
  const other = [b, c, d].find((x) => x.dtype !== a.dtype);
  if (other === undefined && (a.dtype === 'float32' || a.dtype === 'float64')) return a.dtype;
  throw new MercerError(
    'DTYPE_MISMATCH',
    other === undefined
      ? `${WHAT}: the inputs are ${a.dtype}, and sums are computed in float32 or float64. Cast them first, for example await a.cast('float32').`
      : `${WHAT}: a is ${a.dtype}, b is ${b.dtype}, c is ${c.dtype} and d is ${d.dtype}. Cast them to one of float32 and float64.`,
  );
}

function commonBatch(inputs: GradInputs, p: ParameterValue): readonly number[] {
  const named = GRAD_INPUTS.map((name) => ({ name, shape: inputs[name].shape.slice(0, -2) }));
  const shapes = [
    ...named,
    ...(isTensor(p) ? [{ name: 'p', shape: [...parameterBatch(p.shape)] }] : []),
  ];
  try {
    return broadcastShapes(...shapes.map(({ shape }) => shape));
  } catch (cause) {
    const listed = shapes.map(({ name, shape }) => `${name} ${formatShape(shape)}`).join(', ');
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${WHAT}: the batch axes of ${listed} do not broadcast. Each pair of extents must be equal, or one of them 1.`,
      { cause },
    );
  }
}

/** Reads an input, or returns undefined where it has to be copied: its last axis must be contiguous. */
export function gradOperand(x: Layout, shape: GradShape): MatrixOperand | undefined {
  const operand = inputOperand(x, shape, 'row');
  return operand?.layout === 'row' ? operand : undefined;
}

/**
 * Checks an output and reads its strides.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, NOT_CONTIGUOUS or OVERLAP
 */
export function gradOutput(out: Tensor, shape: GradShape, read: readonly Tensor[]): GradOutput {
  const { dtype, device, outShape } = shape;
  checkOut(out, { shape: outShape, dtype, device }, read, WHAT);
  const output = outputOf(out, shape);
  if (output !== undefined) return output;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${WHAT}: out has strides ${formatShape(out.strides)}. Its last axis must be contiguous, no stride negative, and the batch axes evenly spaced. Compute into a new tensor and copy it.`,
  );
}

/** The strides of a result that the call allocates itself. */
export function freshGradOutput(shape: GradShape): GradOutput {
  const { outShape } = shape;
  const output = outputOf(
    { shape: outShape, strides: rowMajorStrides(outShape), offset: 0 },
    shape,
  );
  if (output === undefined) throw new Error('a row-major output is always writable');
  return output;
}

function outputOf(out: Layout, { dtype, batchShape, o }: GradShape): GradOutput | undefined {
  const view = matrixLayout(out.shape, out.strides, 'row');
  const batchStride = collapseBatchStride(batchShape, out.strides.slice(0, -3));
  const strideO = o > 1 ? (out.strides[out.shape.length - 3] ?? 0) : 0;
  if (view?.layout !== 'row' || batchStride === undefined || batchStride < 0 || strideO < 0) {
    return undefined;
  }
  const { leadingStride } = view;
  const perVector = 16 / dtypeBytes(dtype);
  const aligned = [out.offset, leadingStride, strideO, batchStride].every(
    (value) => value % perVector === 0,
  );
  return { leadingStride, strideO, batchStride, aligned };
}

/** Every input as a kernel reads it. */
export type GradOperands = Readonly<Record<(typeof GRAD_INPUTS)[number], MatrixOperand>>;

/** The scalar arguments of a launch, p apart. */
export function gradScalars(
  { m, n, o, k, batch }: GradShape,
  { a, b, c, d }: GradOperands,
  out: GradOutput,
): Scalars {
  return {
    m,
    n,
    o,
    k,
    batch,
    ldo: out.leadingStride,
    strideO: out.strideO,
    lda: a.leadingStride,
    ldb: b.leadingStride,
    ldc: c.leadingStride,
    ldd: d.leadingStride,
    batchStrideA: a.batchStride,
    batchStrideB: b.batchStride,
    batchStrideC: c.batchStride,
    batchStrideD: d.batchStride,
    batchStrideOut: out.batchStride,
  };
}
