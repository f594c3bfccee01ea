import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { formatShape } from '../checked-size.js';
import { patternOf } from '../elementwise.js';
import { MercerError } from '../mercer-error.js';
import { CallSteps, type CallView } from '../operation/call-steps.js';
import { only, Operation, prepareOne } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, OUT_OPTION, type Tensor } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import type { AnyCall } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type { BatchRule, DerivativeRule, KnownValue, Primitive } from '../trace/primitive.js';
import { SHAPING_OPTIONS, type PreparedShaping, type ShapingOptions } from './shaping-options.js';

/** How many elements come before and behind an axis. */
export type PadWidth = readonly [before: number, after: number];

/**
 * Widths as numpy has them: one number on both sides of every axis, a pair for every axis, or a list of pairs, one for each axis; a list of
 * one pair is for every axis.
 */
export type PadWidths = number | PadWidth | readonly PadWidth[];

/** Options of {@link pad}. */
export interface PadOptions<D extends DType = DType> extends ShapingOptions<D> {
  /** What is put around, converted as `fill` does. Default: 0. */
  readonly value?: number | bigint | boolean | undefined;
}

const PAD_OPTIONS: OptionNames<PadOptions> = { ...SHAPING_OPTIONS, value: true };

const operation = new Operation<
  readonly [x: Tensor, widths: readonly PadWidth[], pattern: bigint],
  ShapingOptions
>({
  what: 'pad',
  options: SHAPING_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([x, widths, pattern], { out }) => ({
    key: `${widths.join()} ${pattern}`,
    tensors: { inputs: [x], outs: [out] },
  }),
  plan: ([x, widths, pattern], { out }) => {
    const { dtype, device } = x;
    const before = widths.map(([first]) => first);
    const shape = x.shape.map((extent, axis) => {
      const [first, last] = widths[axis] ?? [0, 0];
      return first + extent + last;
    });
    if (out !== undefined) checkOut(out, { shape, dtype, device }, [x], 'pad');
    const tensors = { inputs: [x], outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.result({ shape, dtype });
    // slabs before and behind each axis, as long as x along the axes before it, so that nothing is written twice
    let inner = to;
    for (const [axis, extent] of x.shape.entries()) {
      const first = before[axis] ?? 0;
      const end = first + extent;
      steps.fill(partOf(inner, axis, 0, first), pattern);
      steps.fill(partOf(inner, axis, end, (shape[axis] ?? 0) - end), pattern);
      inner = partOf(inner, axis, first, extent);
    }
    steps.copy(steps.input(0), inner);
    return { tensors, steps };
  },
});

const partOf = (view: CallView, axis: number, start: number, extent: number): CallView => ({
  ...view,
  shape: view.shape.with(axis, extent),
  offset: view.offset + start * (view.strides[axis] ?? 0),
});

/** What is padded. */
type Padded = Pick<Tensor, 'shape' | 'label'>;

/** The widths of every axis. @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH */
function widthsOf(widths: unknown, x: Padded): readonly PadWidth[] {
  const every = (pair: PadWidth): readonly PadWidth[] => x.shape.map(() => pair);
  if (typeof widths === 'number') {
    return every([checkWidth(widths, widths), checkWidth(widths, widths)]);
  }
  if (Array.isArray(widths)) {
    const list: readonly unknown[] = widths;
    if (list.length === 2 && list.every((one) => typeof one === 'number')) {
      return every(checkPair(list, widths));
    }
    const pairs = list.map((one) => checkPair(one, widths));
    const [only] = pairs;
    if (pairs.length === 1 && only !== undefined) return every(only);
    if (pairs.length === x.shape.length) return pairs;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `pad: ${pairs.length} pairs of widths for ${x.label}, which has ${x.shape.length} axes. Pass one pair for each axis, or one for all.`,
    );
  }
  return [checkPair(widths, widths)];
}

function checkPair(pair: unknown, widths: unknown): PadWidth {
  if (Array.isArray(pair) && pair.length === 2) {
    return [checkWidth(pair[0], widths), checkWidth(pair[1], widths)];
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `pad: the widths are ${describeWidths(widths)}. Pass a number, a pair [before, after], or a pair for each axis.`,
  );
}

function checkWidth(width: unknown, widths: unknown): number {
  if (typeof width === 'number' && Number.isSafeInteger(width) && width >= 0) return width;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `pad: width ${describeValue(width)}${Array.isArray(widths) ? ` in ${describeWidths(widths)}` : ''}. Pass counts of 0 or more; slice() takes elements away.`,
  );
}

const describeWidths = (widths: unknown): string =>
  Array.isArray(widths)
    ? formatShape(
        widths.map((one: unknown) => (Array.isArray(one) ? formatShape(one) : one) as number),
      )
    : describeValue(widths);

/** How {@link pad} is called. */
export interface Pad {
  <D extends DType>(
    x: TensorOperand<D>,
    widths: PadWidths,
    options?: PadOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    widths: PadWidths,
    options?: PadOptions<NoInfer<D>>,
  ) => Promise<PreparedShaping<D>>;
}

/** The arguments as they are now. */
function padded(
  widths: unknown,
  value: PadOptions['value'],
): (x: unknown) => readonly [x: Tensor, widths: readonly PadWidth[], pattern: bigint] {
  const copied: unknown = Array.isArray(widths)
    ? widths.map((one: unknown) => (Array.isArray(one) ? [...(one as unknown[])] : one))
    : widths;
  return (x) => {
    assertTensor(x, 'pad: x');
    return [x, widthsOf(copied, x), patternOf(value ?? 0, x.dtype, 'pad: the value')];
  };
}

/**
 * A tensor with more elements around it, all of one value: one copy, and a fill of each side that has any.
 *
 * ```ts
 * import { pad, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2]], { device: 'cpu' });
 * console.log(await pad(x, [[0, 1], [1, 0]], { value: 9 }).toNested()); // [ [ 9, 1, 2 ], [ 9, 9, 9 ] ]
 *
 * const framed = await pad.prepare(x, 1);
 * console.log(await framed(x).toNested()); // [ [ 0, 0, 0, 0 ], [ 0, 1, 2, 0 ], [ 0, 0, 0, 0 ] ]
 * ```
 *
 * @param x any dtype, rank and strides
 * @param widths a number on both sides of every axis, a pair `[before, after]` for every axis, or a list of pairs, one for each axis
 * @returns of x's dtype; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED; with `out` also DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const pad: Pad = Object.assign(
  (x: unknown, widths: unknown, options?: PadOptions): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      heard([x]);
      const { value, ...given } = readOptions('pad', options, PAD_OPTIONS);
      const args = padded(widths, value);
      return whenArrived([x, given], async ([one]) => only(await operation.call(args(one), given)));
    };
    return (recorded(padding, [x, widths, options]) ?? pendingAfter([x], call())) as Pending<
      Tensor<never>
    >;
  },
  {
    prepare: async (example: Tensor, widths: unknown, options?: PadOptions) => {
      const { value, ...given } = readOptions('pad.prepare', options, PAD_OPTIONS);
      const args = padded(widths, value);
      const run = await prepareOne(operation, args(example), given);
      return (x: Tensor, free?: object) => run(args(x), free) as Tensor<never>;
    },
  },
);

const padding: Primitive = {
  name: 'pad',
  call: pad,
  derivative: {
    vjp: (g, { args: [x, widths] }) => [
      () =>
        g.slice(
          ...widthsOf(widths, x as Tensor).map(
            ([before], axis) => [before, before + (x.shape[axis] ?? 0)] as const,
          ),
        ),
    ],
    jvp: ([tangent], { args: [, widths] }) => pad(tangent as Tensor, widths),
  } satisfies DerivativeRule<readonly [x: KnownValue, widths: PadWidths]>,
  batch: (({ args: [x, widths, ...rest], call }) => {
    const shape = x.shape.slice(1);
    const each = widthsOf(widths, { shape, label: formatShape(shape) });
    return (call as AnyCall)(x, [[0, 0], ...each], ...rest);
  }) satisfies BatchRule<readonly [x: KnownValue, widths: PadWidths]>,
};

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** With more elements around it: see {@link pad}. */
    pad(widths: PadWidths, options?: PadOptions<NoInfer<D>>): Pending<Tensor<D>>;
  }
}

attachMethods({ pad });
