import { emitSum, planSum, type PairwiseDType, type SumPlan } from '@mercer/kernels';
import {
  empty,
  sumTo as sumBroadcast,
  type Device,
  type LoadOptions,
  type MemoryArgument,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { launchProgram, loadPlan } from '@mercer/tensor/operation';

/** Where a sum is enqueued. */
export interface SumPlace extends LoadOptions {
  readonly stream: Stream;
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
  { stream, debug, signal }: SumPlace,
): Promise<void> {
  const outputs = axis.outer * axis.inner;
  const plan = planSum({ from: source.dtype, to: out.dtype, outputs, count: axis.count });
  const loaded = await loadPlan(out.device, plan, emit(out.device.kind), {
    debug,
    signal,
    values: outputs * axis.count,
  });
  await stream.room({ signal });
  launchProgram(loaded, stream, { src: source, dst: out }, { ...axis });
}

/**
 * The sum over the axes that `target` lacks or has with extent 1, as `sumTo` of @mercer/tensor. Takes `x` over: it is
 * disposed, or is the result.
 */
export async function sumTo<D extends PairwiseDType>(
  x: Tensor<PairwiseDType>,
  target: readonly number[],
  dtype: D,
  { stream, debug, signal }: SumPlace,
): Promise<Tensor<D>> {
  using whole = x;
  return await sumBroadcast(whole, target, { dtype, stream, debug, signal });
}

/** The sum of tensors of one shape, in their order. */
export async function addTensors(tensors: readonly Tensor[], place: SumPlace): Promise<Tensor> {
  const [first] = tensors;
  if (first === undefined) throw new Error('there is nothing to add');
  if (tensors.length === 1) return first.view();
  const dtype = first.dtype === 'float64' ? 'float64' : 'float32';
  const { device, shape } = first;
  const all = empty([tensors.length, ...shape], { dtype, device, stream: place.stream });
  try {
    for (const [index, each] of tensors.entries()) {
      using part = all.slice(index);
      await part.copyFrom(each, { stream: place.stream, signal: place.signal });
    }
  } catch (error) {
    all.dispose();
    throw error;
  }
  return sumTo(all, shape, dtype, place);
}
