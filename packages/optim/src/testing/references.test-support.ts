import { random, tensor, type Device, type DType, type Tensor } from '@mercer/tensor';
import { expect } from 'vitest';

/** A row-major array in float64, for references by plain loops. */
export interface Plain {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export const plain = (
  shape: readonly number[],
  of?: (index: readonly number[]) => number,
): Plain => {
  const data = new Float64Array(sizeOf(shape));
  if (of !== undefined) each(shape, (index, at) => (data[at] = of(index)));
  return { shape, data };
};

/** Every index of a shape, in row-major order. */
export function each(
  shape: readonly number[],
  visit: (index: readonly number[], at: number) => void,
): void {
  const size = sizeOf(shape);
  for (let at = 0; at < size; at++) {
    let rest = at;
    const index = shape.map(() => 0);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const extent = shape[axis] as number;
      index[axis] = rest % extent;
      rest = Math.floor(rest / extent);
    }
    visit(index, at);
  }
}

/** An element; 0 outside. */
export function at({ shape, data }: Plain, ...index: readonly number[]): number {
  let place = 0;
  for (const [axis, extent] of shape.entries()) {
    const one = index[axis] as number;
    if (one < 0 || one >= extent) return 0;
    place = place * extent + one;
  }
  return data[place] as number;
}

export const sumOf = (count: number, of: (k: number) => number): number => {
  let sum = 0;
  for (let k = 0; k < count; k++) sum += of(k);
  return sum;
};

/** Numbers that are no multiples of anything, by name. */
export async function drawn(seed: number, shape: readonly number[]): Promise<Plain> {
  using x = await random.normal(shape, { key: random.key(seed), dtype: 'float64', device: 'cpu' });
  return { shape, data: await x.toTypedArray() };
}

export const placed = async (x: Plain, dtype: DType, device: Device): Promise<Tensor> =>
  tensor(x.data, { shape: x.shape, dtype, device });

export const toPlain = async (x: Tensor): Promise<Plain> => ({
  shape: x.shape,
  data: Float64Array.from((await x.toTypedArray()) as Iterable<number>, Number),
});

/** The largest difference, beside the largest element or 1. */
export function expectClose(given: Plain, wanted: Plain, tolerance: number, what = ''): void {
  expect(given.shape, what).toEqual(wanted.shape);
  let worst = 0;
  let scale = 1;
  for (const [k, value] of wanted.data.entries()) {
    const error = Math.abs((given.data[k] as number) - value);
    // NaN is no small difference
    worst = error <= worst ? worst : error;
    scale = Math.max(scale, Math.abs(value));
  }
  expect(worst / scale, what).toBeLessThan(tolerance);
}

/** The gradient of a function of arrays by one of them, by differences of its values. */
export function differences(
  f: (arrays: Readonly<Record<string, Plain>>) => number,
  arrays: Readonly<Record<string, Plain>>,
  name: string,
  step = 1e-5,
): Plain {
  const { shape, data } = arrays[name] as Plain;
  const moved = (k: number, by: number): number => {
    const other = data.slice();
    other[k] = (other[k] as number) + by;
    return f({ ...arrays, [name]: { shape, data: other } });
  };
  return {
    shape,
    data: data.map((_, k) => {
      // of fourth order
      const near = moved(k, step) - moved(k, -step);
      const far = moved(k, 2 * step) - moved(k, -2 * step);
      return (8 * near - far) / (12 * step);
    }),
  };
}
