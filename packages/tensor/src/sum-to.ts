import {
  emitSum,
  planSum,
  type DType,
  type EmittedKernel,
  type SumDType,
  type SumPlan,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { attachMethods } from './attach-methods.js';
import { formatShape, sizeOfShape } from './checked-size.js';
import type { DeviceCore } from './device-core.js';
import {
  LOAD_OPTIONS,
  STREAM_OPTION,
  type LoadOptions,
  type StreamOption,
  type WorkOptions,
} from './device.js';
import { memoryAt, type ElementView } from './elementwise.js';
import { rowMajorStrides } from './layout.js';
import { MercerError } from './mercer-error.js';
import { allocateView, castView, coreOf, filled, roomOn } from './operations.js';
import { pending, type Pending } from './pending.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import { readOptions } from './read-options.js';
import { waitForRoom, type StreamCore } from './stream-core.js';
import { checkDType } from './check-argument.js';
import { assertTensor, wrap, type Tensor } from './tensor.js';

/** Options of {@link sumTo}. */
export interface SumToOptions<D extends SumDType = SumDType> extends StreamOption, LoadOptions {
  /** Of the result; default: x's. */
  readonly dtype?: D | undefined;
}

const SUM_TO_OPTIONS: OptionNames<SumToOptions> = {
  ...STREAM_OPTION,
  dtype: true,
  ...LOAD_OPTIONS,
};

/**
 * The sum over the axes that `shape`, aligned at the last axis, lacks or has with extent 1: what the gradient of a
 * broadcast is. Added in double precision in an order that depends on the sizes alone, and rounded once. An axis without
 * elements gives 0.
 *
 * ```ts
 * import { sumTo, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2, 3], [4, 5, 6]], { device: 'cpu' });
 * console.log(await sumTo(x, [3]).toNested()); // [ 5, 7, 9 ]
 * console.log(await x.sumTo([2, 1]).toNested()); // [ [ 6 ], [ 15 ] ]
 * ```
 *
 * @param x float32 or float64, any strides; one that is not row-major is copied first
 * @returns a row-major tensor, or another handle for x's elements where no axis is summed and the dtype stays
 * @throws MercerError SHAPE_MISMATCH where `shape` does not broadcast to x's shape, DTYPE_MISMATCH, DISPOSED
 */
export function sumTo<D extends SumDType, R extends SumDType = D>(
  x: Tensor<D>,
  shape: readonly number[],
  options?: SumToOptions<R>,
): Pending<Tensor<R>> {
  return pending(summed(x, shape, options) as Promise<Tensor<R>>);
}

declare module './tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The sum over axes: see {@link sumTo}. */
    sumTo<R extends SumDType = D & SumDType>(
      shape: readonly number[],
      options?: SumToOptions<R>,
    ): Pending<Tensor<R>>;
  }
}

attachMethods({ sumTo: { gives: 'tensor', call: sumTo } });

async function summed(
  x: Tensor<SumDType>,
  shape: readonly number[],
  options?: SumToOptions,
): Promise<Tensor<SumDType>> {
  options = readOptions('sumTo', options, SUM_TO_OPTIONS);
  assertTensor(x, 'sumTo: x');
  if ((x.dtype as string) !== 'float32' && (x.dtype as string) !== 'float64') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `sumTo: x is ${x.label}. Sums are taken of float32 and float64; call cast('float32') first.`,
    );
  }
  const groups = axisGroups(x.shape, checkTarget(x, shape));
  const dtype = checkDType(options.dtype ?? x.dtype, 'sumTo');
  if (!groups.some(({ summed }) => summed)) return sameElements(x, shape, dtype, options);
  const device = coreOf(x.device);
  const stream = await roomOn(device, options, 'sumTo');
  const packed = x.isContiguous ? x : await castView(x, x.dtype, options, 'sumTo');
  try {
    const total = await sumGroups(device, packed, groups, dtype, stream, options);
    const layout = { shape, strides: rowMajorStrides(shape), offset: 0 };
    return wrap({ ...total, ...layout }, dtype);
  } finally {
    if (packed !== x) packed.storage.dispose();
  }
}

/** What there is to do where no axis is summed. */
async function sameElements(
  x: Tensor<SumDType>,
  shape: readonly number[],
  dtype: SumDType,
  { stream, signal }: WorkOptions,
): Promise<Tensor<SumDType>> {
  const same = x.reshape(shape);
  if (dtype === x.dtype) return same;
  try {
    return await same.cast(dtype, { stream, signal });
  } finally {
    same.dispose();
  }
}

/** One launch for each run of summed axes, the last run first; partial sums stay in float64. */
async function sumGroups(
  device: DeviceCore,
  x: ElementView,
  groups: readonly AxisGroup[],
  dtype: SumDType,
  stream: StreamCore,
  { debug, signal }: LoadOptions,
): Promise<ElementView> {
  const at = groups.findLastIndex(({ summed }) => summed);
  const kept = groups.filter((_, i) => i !== at);
  const isLast = !kept.some(({ summed }) => summed);
  const outer = sizeOfShape(groups.slice(0, at).map(({ extent }) => extent));
  const inner = sizeOfShape(groups.slice(at + 1).map(({ extent }) => extent));
  const count = groups[at]?.extent ?? 1;
  const to = isLast ? dtype : 'float64';
  const sum = await filled(
    allocateView(device, [outer, inner], to, { stream }),
    async (out): Promise<void> => {
      const plan = planSum({ from: x.dtype as SumDType, to, outputs: outer * inner, count });
      const kernel = await device.loadForCall(kernelFor(plan, device.kind), {
        debug,
        signal,
        values: outer * count * inner,
      });
      await waitForRoom(stream, signal);
      const strides = { strideOuter: count * inner, strideCount: inner, strideInner: 1 };
      kernel.launch(stream, {
        pointers: [memoryAt(x, 0), memoryAt(out, 0)],
        scalars: { outer, count, inner, ...strides },
      });
    },
  );
  if (isLast) return sum;
  try {
    return await sumGroups(device, sum, kept, dtype, stream, { debug, signal });
  } finally {
    sum.storage.dispose();
  }
}

const kernels = new RecentMap<string, EmittedKernel>(() => REMEMBERED_KERNELS);

function kernelFor(plan: SumPlan, dialect: 'cpu' | 'cuda'): EmittedKernel {
  const key = `${dialect} ${JSON.stringify(plan)}`;
  let kernel = kernels.get(key);
  if (kernel === undefined) kernels.set(key, (kernel = emitSum(plan, dialect)));
  return kernel;
}

/** A run of axes that are all summed or all kept. */
interface AxisGroup {
  readonly summed: boolean;
  readonly extent: number;
}

/** The axes of a shape, neighbours of one kind taken together; axes of extent 1 left out. */
function axisGroups(shape: readonly number[], target: readonly number[]): AxisGroup[] {
  const lead = shape.length - target.length;
  const groups: AxisGroup[] = [];
  for (const [axis, extent] of shape.entries()) {
    if (extent === 1) continue;
    const summed = axis < lead || target[axis - lead] === 1;
    const previous = groups.at(-1);
    if (previous?.summed === summed) {
      groups[groups.length - 1] = { summed, extent: previous.extent * extent };
    } else {
      groups.push({ summed, extent });
    }
  }
  return groups;
}

function checkTarget(x: Tensor, shape: readonly number[]): readonly number[] {
  const lead = x.rank - shape.length;
  if (lead >= 0 && shape.every((extent, i) => extent === 1 || extent === x.shape[i + lead])) {
    return shape;
  }
  throw new MercerError(
    'SHAPE_MISMATCH',
    `sumTo: ${formatShape(shape)} does not broadcast to the shape of ${x.label}. Aligned at the last axis, every extent must be 1 or the tensor's.`,
  );
}
