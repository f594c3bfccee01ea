import { describeValue } from '@mercer/options';
import { FormulaError } from '../../formula-error.js';
import { pairsEvaluator, type InputData } from '../evaluate-vector.js';
import { assertReduction, outputsOf, type Reduction } from './reduction.js';

/** How many rows either side has. */
export interface RowCounts {
  readonly rowsI: number;
  readonly rowsJ: number;
}

/** The arrays of a reduction; index -1 where there is no such row. */
export interface ReductionValues {
  readonly value?: Float64Array;
  readonly index?: Float64Array;
}

/** The value of the formula, or of the weight, at a row of the reduced side. */
type Along = (at: number) => Float64Array;

/**
 * The value of a reduction in float64: for every kept row, a row of each output. NaN makes Min and
 * Max NaN and is found first by ArgMin and ArgMax; KMin and KMax sort it last; ties go to the smaller
 * index. The oracle for kernels: written for clearness, not for speed.
 *
 * ```ts
 * import { evaluateReduction, ops, reduction, vi, vj } from '@mercer/formula';
 * const sum = reduction('Sum', ops.sqNorm2(ops.sub(vi(0, 1), vj(1, 1))));
 * console.log(evaluateReduction(sum, [[0, 1], [1, 2, 3]], { rowsI: 2, rowsJ: 3 }).value); // Float64Array(2) [ 14, 5 ]
 * ```
 */
export function evaluateReduction(
  reduction: Reduction,
  data: InputData,
  rows: RowCounts,
): ReductionValues {
  assertReduction(reduction, 'evaluateReduction');
  if (typeof rows !== 'object' || (rows as unknown) === null) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `evaluateReduction: rows is ${describeValue(rows)}. Pass { rowsI, rowsJ }.`,
    );
  }
  const { rowsI, rowsJ } = rows;
  const [kept, reduced] = reduction.axis === 1 ? [rowsI, rowsJ] : [rowsJ, rowsI];
  const formula = pairsEvaluator(reduction.formula, data);
  const one = Float64Array.of(1);
  const weight =
    reduction.weight === undefined ? () => one : pairsEvaluator(reduction.weight, data);
  const outputs = outputsOf(reduction);
  const result = Object.fromEntries(
    outputs.map(({ name, dim }) => [name, new Float64Array(kept * dim)]),
  );
  for (let row = 0; row < kept; row++) {
    const along =
      (evaluate: ReturnType<typeof pairsEvaluator>): Along =>
      (at) =>
        reduction.axis === 1 ? evaluate(row, at, rowsJ) : evaluate(at, row, rowsJ);
    const values = reduceRow(reduction, reduced, along(formula), along(weight));
    for (const { name, dim } of outputs) result[name]!.set(values[name] ?? [], row * dim);
  }
  return result;
}

type RowValues = { readonly [K in 'value' | 'index']?: readonly number[] };

function reduceRow(
  { kind, formula, weight, k = 1 }: Reduction,
  reduced: number,
  formulaAt: Along,
  weightAt: Along,
): RowValues {
  if (kind === 'Sum') return { value: totals(formula.dim, reduced, formulaAt) };
  if (kind === 'Mean')
    return { value: totals(formula.dim, reduced, formulaAt).map((sum) => sum / reduced) };
  const rows = Array.from({ length: reduced }, (_, at) => formulaAt(at));
  const columns = Array.from({ length: formula.dim }, (_, c) => rows.map((row) => row[c]!));
  const each = (f: (column: readonly number[]) => number): RowValues => ({ value: columns.map(f) });
  switch (kind) {
    case 'Prod':
      return each((column) => column.reduce((p, x) => p * x, 1));
    case 'Var':
      return each((column) => {
        const mean = total(column) / column.length;
        return total(column.map((x) => (x - mean) ** 2)) / column.length;
      });
    case 'Any':
      return each((column) => Number(column.some((x) => x !== 0)));
    case 'All':
      return each((column) => Number(column.every((x) => x !== 0)));
    case 'Count':
      return each((column) => column.filter((x) => x !== 0).length);
    case 'LogSumExp':
    case 'SumSoftMaxWeight':
    case 'MaxSumShiftExp':
      return { value: exponentials(kind, columns[0]!, weightAt, weight?.dim ?? 1) };
    case 'Min':
    case 'ArgMin':
    case 'MinArgMin':
      return first(columns, (a, b) => a < b, Infinity);
    case 'Max':
    case 'ArgMax':
    case 'MaxArgMax':
      return first(columns, (a, b) => a > b, -Infinity);
    case 'KMin':
    case 'ArgKMin':
    case 'KMinArgKMin':
      return several(columns, k, (a, b) => a - b, Infinity);
    case 'KMax':
    case 'ArgKMax':
    case 'KMaxArgKMax':
      return several(columns, k, (a, b) => b - a, -Infinity);
  }
}

const total = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0);

/** The {@link total} of every column, with no list of its values. */
function totals(dim: number, reduced: number, formulaAt: Along): number[] {
  const sums = new Array<number>(dim).fill(0);
  for (let at = 0; at < reduced; at++) {
    const row = formulaAt(at);
    for (let c = 0; c < dim; c++) sums[c]! += row[c]!;
  }
  return sums;
}

function first(
  columns: readonly (readonly number[])[],
  better: (a: number, b: number) => boolean,
  empty: number,
): RowValues {
  const index = columns.map((column) => {
    let best = column.length === 0 ? -1 : 0;
    for (const [at, x] of column.entries()) {
      const known = column[best]!;
      if (!Number.isNaN(known) && (Number.isNaN(x) || better(x, known))) best = at;
    }
    return best;
  });
  return { index, value: index.map((at, c) => (at < 0 ? empty : columns[c]![at]!)) };
}

function several(
  columns: readonly (readonly number[])[],
  k: number,
  order: (a: number, b: number) => number,
  empty: number,
): RowValues {
  const sorted = columns.map((column) =>
    column
      .map((x, at) => ({ x, at }))
      .sort((a, b) => {
        const missing = Number(Number.isNaN(a.x)) - Number(Number.isNaN(b.x));
        // Infinity less infinity is NaN: equal.
        return missing || order(a.x, b.x) || a.at - b.at;
      }),
  );
  const pick = <T>(get: (entry: { x: number; at: number }) => T, none: T): T[] =>
    Array.from({ length: k }, (_, rank) =>
      sorted.map((column) => (column[rank] === undefined ? none : get(column[rank]))),
    ).flat();
  return { value: pick(({ x }) => x, empty), index: pick(({ at }) => at, -1) };
}

/** The family of exp(F) G. A part with F = -inf adds nothing; +inf gives +inf. */
function exponentials(
  kind: 'LogSumExp' | 'SumSoftMaxWeight' | 'MaxSumShiftExp',
  f: readonly number[],
  weightAt: Along,
  dim: number,
): number[] {
  const largest = f.reduce((m, x) => Math.max(m, x), -Infinity);
  const shifted = f.map((x) => (x === -Infinity ? 0 : x === largest ? 1 : Math.exp(x - largest)));
  const sums = totals(dim, shifted.length, (at) => {
    const e = shifted[at]!;
    return weightAt(at).map((weight) => (e === 0 ? 0 : e * weight));
  });
  if (kind === 'MaxSumShiftExp') return [largest, ...sums];
  if (kind === 'SumSoftMaxWeight') return sums.map((sum) => sum / total(shifted));
  return sums.map((sum) => (largest === -Infinity ? -Infinity : largest + Math.log(sum)));
}
