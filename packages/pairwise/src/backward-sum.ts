import { emitSum, planSum, type PairwiseDType, type SumPlan } from '@mercer/kernels';
import {
  empty,
  type DebugOption,
  type Device,
  type MemoryArgument,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { launchProgram, loadPlan } from './pairwise-program.js';

/** Where a sum is enqueued. */
export interface SumPlace {
  readonly stream: Stream;
  readonly debug?: DebugOption | undefined;
}

/** Extents and source strides, in elements, of `out[o, i] = sum_j source[o, j, i]`. */
interface AxisSum {
  readonly outer: number;
  readonly count: number;
  readonly inner: number;
  readonly strideOuter: number;
  readonly strideCount: number;
  readonly strideInner: number;
}

const emit = (kind: Device['kind']) => (plan: SumPlan) => ({
  steps: [{ kernel: emitSum(plan, kind) }],
  workspaceBytes: () => 0,
});

/** Adds up one axis of any memory into a row-major tensor of `outer` times `inner` elements. */
export async function sumAxis<D extends PairwiseDType>(
  source: MemoryArgument & { readonly dtype: PairwiseDType },
  out: Tensor<D>,
  axis: AxisSum,
  { stream, debug }: SumPlace,
): Promise<void> {
  const outputs = axis.outer * axis.inner;
  const plan = planSum({ from: source.dtype, to: out.dtype, outputs, count: axis.count });
  const loaded = await loadPlan(out.device, plan, emit(out.device.kind), debug);
  await stream.room();
  launchProgram(loaded, stream, { src: source, dst: out }, { ...axis });
}

/**
 * The sum of a row-major tensor over the axes that `target`, aligned at the last axis, lacks or has with extent 1: the
 * gradient of a broadcast. Added in double precision in a fixed order. Takes `x` over: it is disposed, or is the result.
 */
export async function sumTo<D extends PairwiseDType>(
  x: Tensor<PairwiseDType>,
  target: readonly number[],
  dtype: D,
  place: SumPlace,
): Promise<Tensor<D>> {
  let current: Tensor<PairwiseDType> = x;
  try {
    let groups = axisGroups(x.shape, target);
    while (groups.some(({ summed }) => summed) || current.dtype !== dtype) {
      const at = groups.findLastIndex(({ summed }) => summed);
      const kept = groups.filter((_, i) => i !== at);
      const last = !kept.some(({ summed }) => summed);
      const outer = product(groups.slice(0, Math.max(at, 0)));
      const inner = product(at < 0 ? groups : groups.slice(at + 1));
      const count = groups[at]?.extent ?? 1;
      const { device } = x;
      const next = empty([outer * inner], {
        ...{ dtype: last ? dtype : current.dtype, device, stream: place.stream },
      });
      const from = current;
      current = next;
      try {
        const axis = { outer, count, inner, strideOuter: count * inner, strideCount: inner };
        await sumAxis(from, next, { ...axis, strideInner: 1 }, place);
      } finally {
        from.dispose();
      }
      groups = kept;
    }
    return current.reshape(target) as Tensor<D>;
  } finally {
    current.dispose();
  }
}

/** The sum of tensors of one shape, in their order. */
export async function addTensors(tensors: readonly Tensor[], place: SumPlace): Promise<Tensor> {
  const [first] = tensors;
  if (first === undefined) throw new Error('there is nothing to add');
  if (tensors.length === 1) return first.view();
  const dtype = first.dtype === 'float64' ? 'float64' : 'float32';
  const { device, shape } = first;
  const all = empty([tensors.length, ...shape], { dtype, device, stream: place.stream });
  for (const [index, each] of tensors.entries()) {
    using part = all.slice(index);
    await part.copyFrom(each, { stream: place.stream });
  }
  return sumTo(all, shape, dtype, place);
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
    } else groups.push({ summed, extent });
  }
  return groups;
}

function product(groups: readonly AxisGroup[]): number {
  return groups.reduce((size, { extent }) => size * extent, 1);
}
