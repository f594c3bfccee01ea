import { describeList } from '@mercer/options';
import { MercerError, pad, type Tensor } from '@mercer/tensor';
import type { KnownValue, Value } from '@mercer/tensor/operation';
import { checkCount } from '../checks.js';
import { shapeError, labelOf } from './layer-operation.js';

/** How a window moves over the last axes of a tensor: a number for each of them. */
export interface Window {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** A number for all axes, or one for each. @throws MercerError INVALID_ARGUMENT */
export function perAxis(
  value: unknown,
  what: string,
  name: string,
  axes: number,
  least: number,
): number[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : new Array(axes).fill(value);
  if (all.length === axes) return all.map((one) => checkCount(one, what, name, least));
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeList(value)}. Pass a number, or ${axes} of them.`,
  );
}

/** How many places a window has along each axis: `floor((extent + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`. @throws MercerError SHAPE_MISMATCH */
export function placesOf(what: string, x: KnownValue, window: Window): readonly number[] {
  const { kernel, stride, padding, dilation } = window;
  return x.shape.slice(-kernel.length).map((extent, k) => {
    const reach = (dilation[k] ?? 1) * ((kernel[k] ?? 1) - 1) + 1;
    const room = extent + 2 * (padding[k] ?? 0) - reach;
    if (room < 0) {
      throw shapeError(
        `${what}: x is ${labelOf(x)}, and a window that reaches over ${reach} elements does not fit into ${extent} with padding ${padding[k] ?? 0} on both sides. Pass a larger x or padding.`,
      );
    }
    return Math.floor(room / (stride[k] ?? 1)) + 1;
  });
}

/**
 * The elements of a tensor under each element of a window, at all its places: views (.., ..places), as many as the window has elements, in row-major order.
 *
 * @param lead how many axes it has in front of those of the window
 * @param value what lies around the tensor
 */
export function windowed(
  x: Value,
  lead: number,
  { kernel, stride, padding, dilation }: Window,
  places: readonly number[],
  value = 0,
): readonly Value[] {
  const widths = [
    ...new Array<readonly [number, number]>(lead).fill([0, 0]),
    ...padding.map((n) => [n, n] as const),
  ];
  const whole = padding.every((n) => n === 0) ? x : pad(x as Tensor, widths, { value });
  const offsets = kernel.reduce<readonly (readonly number[])[]>(
    (all, extent) => all.flatMap((one) => Array.from({ length: extent }, (_, k) => [...one, k])),
    [[]],
  );
  return offsets.map((offset) => {
    const ranges = offset.map((k, axis): [number, number, number] => {
      const start = k * (dilation[axis] ?? 1);
      const step = stride[axis] ?? 1;
      return [start, start + ((places[axis] ?? 0) - 1) * step + 1, step];
    });
    return whole.slice(...new Array<null>(lead).fill(null), ...ranges);
  });
}
