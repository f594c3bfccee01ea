import type { ReductionKind } from '@mercer/formula';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import { Bounded, UNIT, type Algebra, type BoundedNumber } from './bounded.test-support.js';
import { lazyI, lazyJ, param, type LazyAxis, type LazyDType, type LazyReduction } from './index.js';
import {
  reduceTerms,
  type RankedComponent,
  type ReducedRow,
} from './reduce-bounded.test-support.js';

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

/** A variable of a formula: its numbers and the side that they follow. */
export interface Variable {
  readonly data: Numbers;
  readonly side: LazyAxis | 'parameter';
}

/** A function of variables, the same for {@link LazyTensor}s and for numbers. */
export type FormulaOf = <T extends Algebra<T>>(...variables: readonly T[]) => T;

/** A reduction as a test means it: see `reference` and `lazyReduction`. */
export interface Meaning {
  readonly kind: ReductionKind;
  readonly axis: LazyAxis;
  readonly k?: number | undefined;
  readonly variables: readonly Variable[];
  readonly formula: FormulaOf;
  readonly weight?: FormulaOf | undefined;
}

/** What a reduction must give, in float64 and by loops: for every batch entry the rows of each output. */
export interface Expected {
  readonly batch: readonly number[];
  readonly value: readonly BoundedNumber[] | undefined;
  readonly index: readonly number[] | undefined;
  /** The components of each row of results, where there are indices. */
  readonly ranked: readonly (readonly RankedComponent[])[];
}

/** The batch shape that all broadcast to; written for tests, without the package's own. */
export function together(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    return sizes.includes(0) ? 0 : Math.max(...sizes);
  });
}

/** The place of a batch entry of the whole in an operand with axes of extent 1. */
export function entryOf(batch: readonly number[], own: readonly number[], entry: number): number {
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

/** The reduction by plain loops over its meaning, with the bound of every result. */
export function reference(of: Meaning, dtype: LazyDType): Expected {
  const { variables } = of;
  const unit = UNIT[dtype];
  const rowsOf = (side: LazyAxis): number =>
    variables.find((one) => one.side === side)?.data.rows ?? 1;
  const [kept, reduced] = of.axis === 'j' ? [rowsOf('i'), rowsOf('j')] : [rowsOf('j'), rowsOf('i')];
  const batch = together(variables.map(({ data }) => data.batch));
  const evaluate = (entry: number, i: number, j: number, formula: FormulaOf): Bounded =>
    formula(
      ...variables.map(({ data, side }) => {
        const { rows, dim, values } = data;
        const row = side === 'i' ? i : side === 'j' ? j : 0;
        const at = (entryOf(batch, data.batch, entry) * rows + row) * dim;
        return new Bounded(
          Array.from(values.subarray(at, at + dim), (value) => ({ value, error: 0 })),
          unit,
        );
      }),
    );
  // their dims, of numbers that need not be there
  const sample = (formula: FormulaOf): number =>
    formula(
      ...variables.map(
        ({ data: { dim } }) =>
          new Bounded(
            Array.from({ length: dim }, () => ({ value: 1, error: 0 })),
            unit,
          ),
      ),
    ).parts.length;
  const dims = { dim: sample(of.formula), weightDim: of.weight ? sample(of.weight) : 1, unit };
  const rows: ReducedRow[] = [];
  for (let entry = 0; entry < product(batch); entry++) {
    for (let row = 0; row < kept; row++) {
      const terms = Array.from({ length: reduced }, (_, term) => {
        const [i, j] = of.axis === 'j' ? [row, term] : [term, row];
        const weight = of.weight && evaluate(entry, i, j, of.weight);
        return { formula: evaluate(entry, i, j, of.formula), weight };
      });
      rows.push(reduceTerms(of.kind, of.k ?? 1, terms, dims));
    }
  }
  const has = reduceTerms(of.kind, of.k ?? 1, [], dims);
  return {
    batch,
    value: has.value && rows.flatMap(({ value = [] }) => value),
    index: has.index && rows.flatMap(({ index = [] }) => index),
    ranked: rows.map(({ ranked = [] }) => ranked),
  };
}

/** The same reduction of tensors, by the methods of `LazyTensor`. */
export function lazyReduction(of: Meaning, tensors: readonly Tensor<LazyDType>[]): LazyReduction {
  const variables = of.variables.map(({ side, data }, n) => {
    const tensor = tensors[n]!;
    if (side === 'parameter') return param(tensor.reshape([...data.batch, data.dim]));
    return side === 'i' ? lazyI(tensor) : lazyJ(tensor);
  });
  const weight = of.weight?.(...variables);
  return of.formula(...variables).reduction(of.kind, of.axis, {
    ...(weight !== undefined && { weight }),
    ...(of.k !== undefined && { k: of.k }),
  });
}

/** Expects results within the bounds; row numbers exactly, but where what is off decides. */
export async function expectResult(
  found: { readonly value?: Tensor | undefined; readonly index?: Tensor | undefined },
  wanted: Expected,
): Promise<void> {
  if (found.index !== undefined) {
    const indices = await (found.index as Tensor<'int32'>).toTypedArray();
    expect(indices).toHaveLength(wanted.index?.length ?? 0);
    expectIndices([...indices], wanted);
  }
  if (found.value === undefined) return;
  const values = (await found.value.toTypedArray()) as Float32Array;
  expect(values).toHaveLength(wanted.value?.length ?? 0);
  for (const [at, { value, error }] of (wanted.value ?? []).entries()) {
    const got = values[at] ?? NaN;
    if (Object.is(got, value) || got === value || Math.abs(got - value) <= error) continue;
    assert.fail(`value ${at}: ${got}, not ${value} within ${error}`);
  }
}

function expectIndices(indices: readonly number[], { index = [], ranked }: Expected): void {
  const perRow = ranked.length === 0 ? 0 : index.length / ranked.length;
  ranked.forEach((components, row) => {
    const own = indices.slice(row * perRow, (row + 1) * perRow);
    components.forEach(({ terms, best }, c) => {
      const got = own.filter((_, at) => at % components.length === c);
      const isExact = terms.every(({ error }) => error === 0);
      got.forEach((at, rank) => {
        const right = best[rank] ?? -1;
        if (at === right) return;
        const [one, other] = [terms[at], terms[right]];
        const isNear =
          one !== undefined &&
          other !== undefined &&
          Math.abs(one.value - other.value) <= one.error + other.error;
        const isNew = !got.slice(0, rank).includes(at);
        if (!isExact && isNear && isNew) return;
        assert.fail(`index ${rank} of component ${c}, row ${row}: ${at}, not ${right}`);
      });
    });
  });
}
