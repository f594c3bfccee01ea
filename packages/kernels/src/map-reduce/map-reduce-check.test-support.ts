import {
  evaluateReduction,
  inputsOf,
  ops,
  outputsOf,
  reduction as makeReduction,
  type Reduction,
  type ReductionValues,
  type VariableNode,
} from '@mercer/formula';
import { expect } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import type { KernelProgram } from '../emitted-kernel.js';
import type { PairwiseDType } from '../dtype.js';
import type { ProgramLaunch } from '../testing/cpu-program.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { emitMapReduce } from './emit.js';
import { halfValue, halfWord, randomHalf } from './half-values.test-support.js';
import { planMapReduce } from './plan.js';
import type { MapReduceProblem } from './problem.js';
import { planRanges } from './ranges/plan-ranges.js';
import type { KeptRanges } from './ranges/ranges.js';
import { evaluateOverRanges } from './ranges/evaluate-over-ranges.test-support.js';

/** Where a number of an input stands. */
export interface Place {
  readonly position: number;
  readonly row: number;
  readonly component: number;
}

/** One reduction on random data. */
export interface MapReduceCase extends Pick<
  MapReduceProblem,
  'further' | 'storage' | 'accumulate' | 'sumScheme' | 'fastMath'
> {
  readonly reduction: Reduction;
  /** Of the kept side. */
  readonly ranges?: KeptRanges;
  readonly dtype: PairwiseDType;
  readonly rowsI: number;
  readonly rowsJ: number;
  readonly batch?: number;
  /** Rounding of the formula itself, in u of the sum of sizes; 0: results are exact. Default 8. */
  readonly units?: number;
  /** The error of a sum of this many terms in u. Default: 2 sqrt K + 4. */
  readonly growth?: (terms: number) => number;
  /** Default: uniform in [-1, 1); inputs of 16 bits are any such numbers, or of `fill` too with `fillsHalf`. */
  readonly fill?: (place: Place) => number;
  readonly fillsHalf?: true | undefined;
  /** Sizes that the plan is made for, if not those of the launch. */
  readonly planned?: Pick<MapReduceProblem, 'rowsI' | 'rowsJ' | 'rangeRows'>;
  /** Rows of inputs that are read by index, by position. */
  readonly tables?: Readonly<Record<number, number>>;
  /** Positions of inputs with values of pairs whose i lie next to each other. */
  readonly transposed?: readonly number[];
  /** Input positions that all batch entries share. */
  readonly shared?: readonly number[];
}

const UNTOUCHED = -12345;

/** The results of a reduction, and the sizes of the terms of a sum, which are computed with it. */
function wantedOf(
  one: Reduction,
  evaluate: (one: Reduction) => ReductionValues,
): { readonly wanted: ReductionValues; readonly sizes: ReductionValues } {
  const { kind, formula, axis } = one;
  if (kind !== 'Sum' && kind !== 'Mean') {
    const wanted = evaluate(one);
    return { wanted, sizes: wanted };
  }
  const { value = new Float64Array() } = evaluate(
    makeReduction(kind, ops.concat(formula, ops.abs(formula)), { axis }),
  );
  const half = (which: number): ReductionValues => ({
    value: value.filter((_, at) => Math.floor(at / formula.dim) % 2 === which),
  });
  return { wanted: half(0), sizes: half(1) };
}

/** Small whole numbers, on which sums and squares are exact and ties are many. */
export const wholeNumber = (): number => Math.floor(random() * 7) - 3;

/** Whole numbers with a NaN and infinities among them. */
export const specialNumber = (): number => {
  const r = random();
  if (r < 0.03) return NaN;
  if (r < 0.06) return Infinity;
  return r < 0.1 ? -Infinity : wholeNumber();
};

/** Runs a reduction and compares every result with float64. */
export function checkMapReduce(
  one: MapReduceCase,
  limits: DeviceLimits,
  run: (program: KernelProgram, launch: ProgramLaunch) => void,
): void {
  const { reduction, further = [], dtype, rowsI, rowsJ, batch = 1 } = one;
  const { ranges, storage = {}, tables = {}, fill = () => 2 * random() - 1 } = one;
  const all = [reduction, ...further];
  const { growth = (terms: number) => 2 * Math.sqrt(terms) + 4, accumulate, sumScheme } = one;
  const sums = {
    ...(accumulate !== undefined && { accumulate }),
    ...(sumScheme !== undefined && { sumScheme }),
    ...(one.fastMath !== undefined && { fastMath: one.fastMath }),
  };
  const problem = {
    ...sums,
    reduction,
    further,
    storage,
    dtype,
    batch,
    ranges: ranges !== undefined,
  };
  const plan = planMapReduce({ ...problem, rowsI, rowsJ, ...one.planned }, limits);
  const program = emitMapReduce(plan);
  const arrayOf = dtype === 'float32' ? Float32Array : Float64Array;
  const inputs = inputsOf(
    ...all.flatMap(({ formula, weight }) => [formula, weight]).filter((f) => f !== undefined),
  );
  const rowsOf = ({ category, position }: VariableNode): number =>
    tables[position] ??
    (category === 'i' || category === 'pair' ? rowsI : category === 'j' ? rowsJ : 1);
  const columnsOf = ({ category }: VariableNode): number => (category === 'pair' ? rowsJ : 1);
  const scalars: Record<string, number> = { rowsI, rowsJ, batch };
  const pointers: Record<
    string,
    Float32Array | Float64Array | Int32Array | Uint16Array | BigInt64Array
  > = {};
  for (const input of inputs) {
    const [rows, columns] = [rowsOf(input), columnsOf(input)];
    const gap = input.position % 2;
    const isTransposed = one.transposed?.includes(input.position) === true;
    const across = isTransposed ? rows * (input.dim + gap) + 1 : input.dim + gap;
    const ld = input.category === 'pair' && !isTransposed ? columns * across + 1 : input.dim + gap;
    const shared = one.shared?.includes(input.position) === true;
    const stride = shared ? 0 : Math.max(rows * ld, isTransposed ? columns * across : 0);
    // no padding after the last row
    const last = (rows - 1) * ld + (columns - 1) * across + input.dim;
    const count = batch * rows * columns === 0 ? 0 : stride * (batch - 1) + last;
    if (input.category === 'pair') scalars[`columnStride${input.position}`] = across;
    scalars[`ld${input.position}`] = ld;
    scalars[`batchStride${input.position}`] = stride;
    if (input.position in tables) scalars[`rows${input.position}`] = rows;
    const half = storage[input.position];
    const value = (_: unknown, at: number): number =>
      fill({ position: input.position, row: Math.floor(at / ld) % rows, component: at % ld });
    const word = (_: unknown, at: number): number =>
      half !== undefined && one.fillsHalf ? halfWord(value(_, at), half) : randomHalf();
    pointers[`x${input.position}`] =
      half === undefined
        ? new arrayOf(Array.from({ length: count }, value))
        : Uint16Array.from({ length: count }, word);
  }
  const dataOf = (layer: number): number[][] => {
    const data: number[][] = [];
    for (const input of inputs) {
      const [p, rows, columns] = [String(input.position), rowsOf(input), columnsOf(input)];
      const { dim } = input;
      const stride = (name: string): number => scalars[`${name}${p}`] ?? 0;
      const [from, ld, across] = [
        layer * stride('batchStride'),
        stride('ld'),
        stride('columnStride'),
      ];
      const [words, half] = [pointers[`x${p}`], storage[input.position]];
      data[input.position] = Array.from({ length: rows * columns * dim }, (_, e) => {
        const pair = Math.floor(e / dim);
        const place =
          from + Math.floor(pair / columns) * ld + (pair % columns) * across + (e % dim);
        const word = Number(words?.[place] ?? NaN);
        return half === undefined ? word : halfValue(word, half);
      });
    }
    return data;
  };
  const kept = reduction.axis === 1 ? rowsI : rowsJ;
  const terms = reduction.axis === 1 ? rowsJ : rowsI;
  if (ranges !== undefined) {
    const { tasks, spans, taskCount } = planRanges(plan, ranges, kept, terms);
    Object.assign(pointers, { tasks, spans });
    scalars['taskCount'] = taskCount;
  }
  const results = all.map((each, n) => {
    const dims = Object.fromEntries(outputsOf(each).map(({ name, dim }) => [name, dim]));
    const count = (name: string): number => batch * kept * (dims[name] ?? 0);
    const out = new arrayOf(count('value')).fill(UNTOUCHED);
    const index = new Int32Array(count('index')).fill(UNTOUCHED);
    const suffix = n === 0 ? '' : String(n);
    if (dims['value'] !== undefined) pointers[`out${suffix}`] = out;
    if (dims['index'] !== undefined) pointers[`index${suffix}`] = index;
    return { out, index };
  });
  run(program, { scalars, pointers });
  const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
  const units = one.units ?? 8;
  const bound = units === 0 ? 0 : (growth(terms) + units) * unit;
  const wrong: string[] = [];
  const evaluate = (each: Reduction, data: number[][]): ReductionValues =>
    ranges === undefined
      ? evaluateReduction(each, data, { rowsI, rowsJ })
      : evaluateOverRanges(
          each,
          data,
          { rowsI, rowsJ },
          ranges,
          new Set(Object.keys(tables).map(Number)),
        );
  for (let layer = 0; layer < batch; layer++) {
    const data = dataOf(layer);
    all.forEach((each, n) => {
      const { wanted, sizes } = wantedOf(each, (one) => evaluate(one, data));
      // a logarithm of a sum has the error of the sum
      const floor = each.kind === 'LogSumExp' && units > 0 ? 1 : 0;
      const report = (what: string, at: number, got: number | undefined, right: number): void => {
        const where = `${what} ${at} of entry ${layer}, reduction ${n}`;
        wrong.push(`${where}: ${got}, not ${right}`);
      };
      wanted.value?.forEach((right, at, { length }) => {
        const got = results[n]?.out[layer * length + at];
        const off = Math.abs((got ?? NaN) - right);
        if (Object.is(got, right) || got === right) return;
        if (off <= bound * (floor + Math.abs(sizes.value?.[at] ?? NaN))) return;
        report('value', at, got, right);
      });
      wanted.index?.forEach((right, at, { length }) => {
        const got = results[n]?.index[layer * length + at];
        if (got !== right) report('index', at, got, right);
      });
    });
  }
  expect(wrong, `${plan.summary}, ${rowsI} x ${rowsJ}`).toEqual([]);
}
