import type { DType } from '@mercer/kernels';
import { tensor, type Device, type Tensor } from '../index.js';
import { castOracle, type Value } from './cast-oracle.test-support.js';
import { randomBits } from './random.test-support.js';
import { viewOf, type LayoutName } from './view-layouts.test-support.js';

/** A place in a shape. */
export type Index = readonly number[];

/** Elements by their place, known without any tensor. Whole numbers are bigints. */
export interface HostValues {
  readonly dtype: DType;
  readonly shape: readonly number[];
  at(index: Index): Value;
}

const WHOLE: readonly DType[] = ['int64', 'int32', 'uint8', 'bool'];

const ENDS: Partial<Readonly<Record<DType, readonly Value[]>>> = {
  int64: [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n],
  int32: [2n ** 31n - 1n, -(2n ** 31n)],
  uint8: [255n, 0n],
  bool: [0n, 1n],
};

const FRACTIONS = [-0, 0.25, -1.5, 3, Infinity, -Infinity, 100];

/** Values that the dtype holds exactly, its ends among them. */
export function hostValues(dtype: DType, shape: readonly number[], seed: number): HostValues {
  const next = randomBits(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  const list = Array.from({ length: size }, (): Value => {
    const bits = next();
    if (!WHOLE.includes(dtype)) return FRACTIONS[bits % FRACTIONS.length] ?? 0;
    const ends = ENDS[dtype] ?? [];
    if (dtype !== 'bool' && bits % 2 === 0) return BigInt((bits >>> 1) % 200);
    return ends[(bits >>> 1) % ends.length] ?? 0n;
  });
  return { dtype, shape, at: (index) => list[placeOf(index, shape)] as Value };
}

/** Where a place is in row-major order. */
export const placeOf = (index: Index, shape: readonly number[]): number =>
  shape.reduce((place, extent, axis) => place * extent + (index[axis] ?? 0), 0);

/** Every place of a shape in row-major order. */
export function places(shape: readonly number[]): readonly Index[] {
  return shape.reduce<readonly Index[]>(
    (all, extent) => all.flatMap((one) => Array.from({ length: extent }, (_, k) => [...one, k])),
    [[]],
  );
}

/** Values as a tensor that lies in memory as said. */
export async function placed(
  values: HostValues,
  layout: LayoutName,
  device: Device,
): Promise<Tensor> {
  const { dtype, shape } = values;
  const list = places(shape).map((index) => values.at(index));
  const data = WHOLE.includes(dtype)
    ? BigInt64Array.from(list as bigint[])
    : Float64Array.from(list as number[]);
  const view = viewOf(dtype, shape, layout, device);
  using source = await tensor(data, { dtype, shape, device });
  return await view.copyFrom(source);
}

/** What is stored, by its bits. */
export const stored = async (x: Tensor): Promise<readonly Value[]> =>
  Array.from<Value>(await x.toTypedArray({ raw: true }));

/** What a tensor of a shape has to store where each element is a value of another dtype, by definition of the cast. */
export const castAll = (
  shape: readonly number[],
  dtype: DType,
  at: (index: Index) => Value,
): readonly (Value | 'nan')[] => places(shape).map((index) => castOracle(at(index), dtype));
