import {
  cpuRandomKernel,
  type BuiltinKernel,
  type DType,
  type RandomNumbers,
} from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { ambientStream, inContextOf } from '../capture/ambient-stream.js';
import { checkShape, sizeOfShape } from '../checked-size.js';
import { FULL_OPTIONS, tensor as tensorOf, type FullOptions } from '../create.js';
import { deviceCore } from '../devices.js';
import { memoryAt } from '../elementwise.js';
import { MercerError } from '../mercer-error.js';
import { allocateView, filled } from '../operations.js';
import { streamFor, waitForRoom } from '../stream-core.js';
import { wrap, type Tensor } from '../tensor.js';
import { checkKey, type RandomKey } from './key.js';

/** Dtypes of numbers that are drawn. */
export type RandomDType = 'float64' | 'float32' | 'float16' | 'bfloat16';

/** Options of functions of {@link random}. */
export interface RandomOptions<D extends DType> extends FullOptions<D> {
  /** What the numbers are a function of: `random.key(seed)`, or one made of it. */
  readonly key: RandomKey;
}

/** Names of {@link RandomOptions}. */
export const RANDOM_OPTIONS = { ...FULL_OPTIONS, key: true } as const;

/** Numbers that are drawn, and what is made of them: `shift + scale x`, in float64. */
export interface Drawing extends Omit<RandomNumbers, 'to'> {
  readonly shift: number;
  readonly scale: number;
}

/** Kernels, so that each is found loaded. */
const kernels = new Map<string, BuiltinKernel>();

function kernelOf({ kind, bits }: Drawing, to: DType): BuiltinKernel {
  const name = `${kind} ${bits} ${to}`;
  let kernel = kernels.get(name);
  if (kernel === undefined) kernels.set(name, (kernel = cpuRandomKernel({ kind, bits, to })));
  return kernel;
}

/** A tensor of numbers that are drawn: on the CPU, and copied where it shall be elsewhere. @throws MercerError, the signal's reason */
export async function drawn<D extends DType>(
  what: string,
  shape: readonly number[],
  { key, device: place, stream, signal }: RandomOptions<D>,
  dtype: D,
  drawing: Drawing,
): Promise<Tensor<D>> {
  checkKey(key, what);
  const extents = checkShape(shape, what);
  signal?.throwIfAborted();
  const cpu = deviceCore('cpu');
  const device = deviceCore(place ?? stream?.device);
  if (device !== cpu && ambientStream() !== undefined) {
    // inside a function that is prepared, whose work is all on the device: they are drawn once, as keys stay those of the example
    const given = { key, device: cpu, signal };
    const data = await inContextOf(undefined, async () => {
      using numbers = await drawn(what, extents, given, dtype, drawing);
      return await numbers.toTypedArray({ signal });
    });
    return await tensorOf(data, { shape: extents, dtype, device, stream, signal });
  }
  // checked before anything is drawn
  const target = streamFor(device, stream, what);
  const queue = device === cpu ? target : cpu.defaultStream;
  const view = await filled(allocateView(cpu, extents, dtype, { stream: queue }), async (to) => {
    const count = sizeOfShape(extents);
    if (count === 0) return;
    const options = { signal, values: count };
    const kernel = await cpu.loadForCall(kernelOf(drawing, dtype), options);
    await waitForRoom(queue, signal);
    const { shift, scale } = drawing;
    const { low: keyLow, high: keyHigh } = key;
    kernel.launch(queue, {
      pointers: [memoryAt(to, 0)],
      scalars: { count, keyLow, keyHigh, shift, scale },
    });
  });
  const tensor = wrap(view, dtype);
  if (device === cpu) return tensor;
  try {
    return await tensor.to(device, { stream, signal });
  } finally {
    tensor.dispose();
  }
}

/** @throws MercerError INVALID_ARGUMENT for dtypes of whole numbers */
export function checkRandomDType(dtype: unknown, what: string): RandomDType {
  if (dtype === undefined || dtype === 'float32') return 'float32';
  if (dtype === 'float64' || dtype === 'float16' || dtype === 'bfloat16') return dtype;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the dtype is ${describeValue(dtype)}. Use float64, float32, float16 or bfloat16; choice() draws whole numbers.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkFinite(value: unknown, name: string, what: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a finite number.`,
  );
}
