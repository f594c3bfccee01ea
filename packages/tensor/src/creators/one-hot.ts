import { eq, select, variable } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { checkDType } from '../check-argument.js';
import { map } from '../map.js';
import { MercerError } from '../mercer-error.js';
import { checkOutView } from '../operations.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { streamFor } from '../stream-core.js';
import { assertTensor, viewOf, type Tensor } from '../tensor.js';
import type { AnyCall } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type { BatchRule, Primitive } from '../trace/primitive.js';

/** Dtypes of classes. */
export type ClassDType = 'int64' | 'int32' | 'uint8';

/** Options of {@link oneHot}. */
export interface OneHotOptions<D extends DType = DType> extends ShapingOptions<D> {
  /** Of the result; default: that of `out`, else 'float32'. */
  readonly dtype?: D | undefined;
}

const ONE_HOT_OPTIONS: OptionNames<OneHotOptions> = { ...SHAPING_OPTIONS, dtype: true };

const CLASSES: readonly DType[] = ['int64', 'int32', 'uint8'] satisfies readonly ClassDType[];

const formula = select(eq(variable('class'), variable('place')), 1, 0);

/**
 * For each class a vector that is 1 at its place and 0 elsewhere, along a new last axis. A class that is not there, below 0 or not below
 * `classes`, gives zeros: a device that must not wait for the host cannot throw. One kernel, inside `vmap` too.
 *
 * ```ts
 * import { oneHot, tensor } from '@mercer/tensor';
 *
 * const classes = await tensor(Int32Array.of(2, 0), { device: 'cpu' });
 * console.log(await oneHot(classes, 3).toNested()); // [ [ 0, 0, 1 ], [ 1, 0, 0 ] ]
 * ```
 *
 * @param indices int64, int32 or uint8, any shape and strides
 * @param classes how many there are, 1 or more
 * @returns (...indices.shape, classes) of the option `dtype`; row-major, or `out`
 * @throws MercerError DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED; with `out` also SHAPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export function oneHot<D extends DType = 'float32'>(
  indices: TensorOperand<ClassDType>,
  classes: number,
  options?: OneHotOptions<D>,
): Pending<Tensor<D>> {
  const call = async (): Promise<Tensor<D>> => {
    heard([indices]);
    const given = readOptions('oneHot', options, ONE_HOT_OPTIONS);
    if (!Number.isSafeInteger(classes) || classes < 1) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `oneHot: the classes are ${describeValue(classes)}. Pass how many there are, 1 or more.`,
      );
    }
    return whenArrived([indices, given], async ([one]) => {
      assertTensor(one, 'oneHot: the indices');
      if (!CLASSES.includes(one.dtype)) {
        throw new MercerError(
          'DTYPE_MISMATCH',
          `oneHot: the indices are ${one.label}. Pass int64, int32 or uint8; cast('int32') converts.`,
        );
      }
      const { out, stream } = given;
      if (out !== undefined) assertTensor(out, 'oneHot: out');
      const dtype = checkDType(given.dtype ?? out?.dtype ?? ('float32' as D), 'oneHot');
      const { shape, strides, offset, device } = one;
      if (out !== undefined)
        checkOutView(out, { shape: [...shape, classes], dtype, device }, [one], 'oneHot');
      streamFor(device, stream, 'oneHot');
      const spread = { shape: [...shape, classes], strides: [...strides, 0], offset };
      using places = viewOf(one, spread, one.dtype);
      return await map(formula, { class: places }, { ...given, dtype, indices: { place: -1 } });
    });
  };
  return (recorded(encoding, [indices, classes, options]) ??
    pendingAfter([indices], call())) as Pending<Tensor<D>>;
}

const encoding: Primitive = {
  name: 'oneHot',
  call: oneHot,
  derivative: 'constant',
  // the classes of examples lie along an axis in front, as they would along any
  batch: (({ args, call }) =>
    args[2]?.out === undefined ? (call as AnyCall)(...args) : undefined) satisfies BatchRule<
    readonly [indices: Tensor<ClassDType>, classes: number, options?: OneHotOptions]
  >,
};
