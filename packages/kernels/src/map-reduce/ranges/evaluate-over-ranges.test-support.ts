import {
  evaluateReduction,
  inputsOf,
  outputsOf,
  type Reduction,
  type ReductionValues,
  type RowCounts,
} from '@mercer/formula';
import type { KeptRanges } from './ranges.js';

/** {@link evaluateReduction} for every kept row over the rows of its ranges alone; `tables` are positions of inputs that are read by index, and whole. No row numbers in formulas. */
export function evaluateOverRanges(
  reduction: Reduction,
  data: readonly (readonly number[] | undefined)[],
  { rowsI, rowsJ }: RowCounts,
  { rangesI, slicesI, redrangesJ }: KeptRanges,
  tables: ReadonlySet<number> = new Set(),
): ReductionValues {
  const kept = reduction.axis === 1 ? rowsI : rowsJ;
  const keptSide = reduction.axis === 1 ? 'i' : 'j';
  const inputs = inputsOf(...[reduction.formula, reduction.weight].filter((f) => f !== undefined));
  const outputs = outputsOf(reduction);
  const all = Object.fromEntries(
    outputs.map(({ name, dim }) => [name, new Float64Array(kept * dim)]),
  );
  for (let row = 0; row < kept; row++) {
    const range = rangesI.findIndex(([start, end]) => row >= start && row < end);
    const slices =
      range < 0 ? [] : redrangesJ.slice(slicesI[range - 1] ?? 0, slicesI[range]).slice();
    const seen = slices
      .flatMap(([start, end]) => Array.from({ length: end - start }, (_, at) => start + at))
      .sort((a, b) => a - b);
    const chosen: number[][] = [];
    for (const { position, category, dim } of inputs) {
      if (tables.has(position)) {
        chosen[position] = [...(data[position] ?? [])];
        continue;
      }
      const ofPairs = seen.map((r) => (keptSide === 'i' ? row * rowsJ + r : r * rowsJ + row));
      const rows =
        category === 'parameter'
          ? [0]
          : category === 'pair'
            ? ofPairs
            : category === keptSide
              ? [row]
              : seen;
      chosen[position] = rows.flatMap((r) => data[position]?.slice(r * dim, (r + 1) * dim) ?? []);
    }
    const sizes =
      reduction.axis === 1 ? { rowsI: 1, rowsJ: seen.length } : { rowsI: seen.length, rowsJ: 1 };
    const values = evaluateReduction(reduction, chosen, sizes);
    for (const { name, dim } of outputs) {
      const found = values[name] ?? new Float64Array(0);
      all[name]?.set(
        name === 'index' ? found.map((at) => (at < 0 ? -1 : (seen[at] ?? NaN))) : found,
        row * dim,
      );
    }
  }
  return all;
}
