import { evaluateReduction, reduction as describe, ops, type Reduction } from '@mercer/formula';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import type { LazyDType } from './index.js';

/** u of each dtype. */
const UNIT = { float32: 2 ** -24, float64: 2 ** -53 } as const;

/** Numbers of a variable: row-major (..batch, rows, dim); a parameter has one row. */
export interface Numbers {
  readonly batch: readonly number[];
  readonly rows: number;
  readonly dim: number;
  readonly values: Float64Array;
}

const product = (sizes: readonly number[]): number => sizes.reduce((p, n) => p * n, 1);

/** Numbers from 0 to 1 that depend on the seed alone, representable in float32. */
export function uniform(seed: number): () => number {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround((state >>> 8) / 2 ** 24);
  };
}

/** Random numbers between `low` and `high`. */
export function numbers(
  seed: number,
  rows: number,
  dim: number,
  {
    batch = [],
    low = -1,
    high = 1,
  }: { batch?: readonly number[]; low?: number; high?: number } = {},
): Numbers {
  const random = uniform(seed);
  const size = product(batch) * rows * dim;
  const values = Float64Array.from({ length: size }, () =>
    Math.fround(low + (high - low) * random()),
  );
  return { batch, rows, dim, values };
}

/** Whole numbers from -3 to 3: many ties, no rounding. */
export function wholeNumbers(
  seed: number,
  rows: number,
  dim: number,
  batch: readonly number[] = [],
): Numbers {
  const some = numbers(seed, rows, dim, { batch, low: -3.49, high: 3.49 });
  return { ...some, values: some.values.map(Math.round) };
}

/** The numbers as a tensor (..batch, rows, dim). */
export function upload<D extends LazyDType>(
  { batch, rows, dim, values }: Numbers,
  dtype: D,
  device: Device,
): Promise<Tensor<D>> {
  return tensor(values, { shape: [...batch, rows, dim], dtype, device });
}

/** What a reduction must give, in float64 and by loops: for every batch entry the rows of each output. */
export interface Expected {
  readonly batch: readonly number[];
  readonly value: Float64Array | undefined;
  readonly index: Float64Array | undefined;
  /** Sums of absolute values for Sum and Mean, else the absolute values: what roundings are relative to. */
  readonly sizes: Float64Array | undefined;
}

/** The batch shape that all broadcast to; written for tests, without the package's own. */
function together(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    return sizes.includes(0) ? 0 : Math.max(...sizes);
  });
}

/** The place of a batch entry of the whole in an operand with axes of extent 1. */
function entryOf(batch: readonly number[], own: readonly number[], entry: number): number {
  let [rest, place, step] = [entry, 0, 1];
  for (let axis = batch.length - 1; axis >= 0; axis--) {
    const size = batch[axis] ?? 1;
    const at = rest % size;
    rest = Math.floor(rest / size);
    const extent = own[axis - batch.length + own.length] ?? 1;
    if (extent !== 1) place += at * step;
    step *= extent;
  }
  return place;
}

/** The reference of a reduction over data by position. */
export function reference(
  of: Reduction,
  data: readonly Numbers[],
  { rowsI, rowsJ }: { rowsI: number; rowsJ: number },
): Expected {
  const batch = together(data.map((one) => one.batch));
  const isSum = of.kind === 'Sum' || of.kind === 'Mean';
  const absolute = isSum ? describe(of.kind, ops.abs(of.formula), { axis: of.axis }) : of;
  const entries = Array.from({ length: product(batch) }, (_, entry) => {
    const rows = data.map((one) => {
      const size = one.rows * one.dim;
      const at = entryOf(batch, one.batch, entry) * size;
      return one.values.subarray(at, at + size);
    });
    const counts = { rowsI, rowsJ };
    const { value, index } = evaluateReduction(of, rows, counts);
    return { value, index, sizes: evaluateReduction(absolute, rows, counts).value };
  });
  const joined = (name: 'value' | 'index' | 'sizes'): Float64Array | undefined =>
    entries.every((one) => one[name] !== undefined) && entries.length > 0
      ? Float64Array.from(entries.flatMap((one) => [...(one[name] ?? [])]))
      : undefined;
  return {
    batch,
    value: joined('value'),
    index: joined('index'),
    sizes: joined('sizes')?.map(Math.abs),
  };
}

/** Expects results within `units` roundings of a sum of `terms`, and indices exactly. */
export async function expectResult(
  found: { readonly value?: Tensor | undefined; readonly index?: Tensor | undefined },
  wanted: Expected,
  { terms, units = 24 }: { readonly terms: number; readonly units?: number },
): Promise<void> {
  if (found.index !== undefined) {
    const indices = await (found.index as Tensor<'int32'>).toTypedArray();
    expect([...indices]).toEqual([...(wanted.index ?? [])]);
  }
  if (found.value === undefined) return;
  const dtype = found.value.dtype === 'float64' ? 'float64' : 'float32';
  const values = (await found.value.toTypedArray()) as Float32Array;
  expect(values).toHaveLength(wanted.value?.length ?? 0);
  const bound = (2 * Math.sqrt(terms) + units) * UNIT[dtype];
  for (const [at, want] of (wanted.value ?? new Float64Array()).entries()) {
    const got = values[at] ?? NaN;
    if (Object.is(got, want) || got === want) continue;
    const size = Math.max(wanted.sizes?.[at] ?? 0, 1);
    if (Math.abs(got - want) <= bound * size) continue;
    assert.fail(
      `value ${String(at)}: ${String(got)}, not ${String(want)} within ${String(bound * size)}`,
    );
  }
}
