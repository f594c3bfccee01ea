import type { ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import {
  lazyI,
  lazyJ,
  param,
  rowNumberI,
  rowNumberJ,
  type LazyReduction,
  type LazyTensor,
} from './index.js';
import { numbers, type Numbers } from './reference.test-support.js';
import { dot, paired, total, type Meant, type Slopes } from './slopes.test-support.js';

const [M, N, R] = [5, 4, 6];

type Lazy = LazyTensor<'float64'>;
type Of = LazyReduction<ReductionKind, 'float64'>;

/** Data by name, and what is computed of it. */
export interface TableCase {
  readonly data: Readonly<Record<string, Numbers>>;
  readonly of: (t: Readonly<Record<string, Tensor<'float64'>>>) => Of;
  /** What one term is, by plain loops; rows of j default to those of y. */
  readonly meant: Pick<Meant, 'kind' | 'axis' | 'k' | 'term'> & { readonly rowsJ?: number };
  /** By which of the data; default: table. */
  readonly by?: readonly string[];
}

/** What the test case computes, for loops. */
export const meantOf = ({ meant }: TableCase): Meant => ({ rowsI: M, rowsJ: N, ...meant });

const product = (x: Slopes, y: Slopes): Slopes => paired(x, y, (p, q) => p.times(q));
const sum = (x: Slopes, y: Slopes): Slopes => paired(x, y, (p, q) => p.plus(q));
const difference = (x: Slopes, y: Slopes): Slopes => paired(x, y, (p, q) => p.minus(q));
/** The row that an index names. */
const numberOf = ([index]: Slopes): number => Math.floor((index?.value ?? NaN) + 0.5);

/** Whole numbers from 0 to below `most`. */
const rowsBelow = (
  most: number,
  seed: number,
  rows: number,
  batch: readonly number[] = [],
): Numbers => {
  const some = numbers(seed, rows, 1, { batch, low: 0, high: most });
  return { ...some, values: some.values.map((one) => Math.min(most - 1, Math.floor(one))) };
};

/** Data by its name. */
export const get = (
  t: Readonly<Record<string, Tensor<'float64'>>>,
  name: string,
): Tensor<'float64'> => {
  const found = t[name];
  if (found === undefined) throw new Error(`no data is called ${name}`);
  return found;
};
const inI = (t: Readonly<Record<string, Tensor<'float64'>>>, name: string): Lazy =>
  lazyI(get(t, name), { name });
const inJ = (t: Readonly<Record<string, Tensor<'float64'>>>, name: string): Lazy =>
  lazyJ(get(t, name), { name });

const table = numbers(1, R, 2);
const points = { x: numbers(2, M, 2), y: numbers(3, N, 2) };
const labels = { table, ...points, ofI: rowsBelow(R, 4, M), ofJ: rowsBelow(R, 5, N) };
const DIM_ONE: readonly ReductionKind[] = ['LogSumExp'];

/** A distance to rows by the labels of one side. */
const kinds = (
  ['Sum', 'Mean', 'Var', 'Prod', 'LogSumExp', 'Min', 'KMax', 'MaxArgMax'] as const
).map((kind, at): [string, TableCase] => {
  const axis = at % 2 === 0 ? 'j' : 'i';
  const side = at % 4 < 2 ? 'ofI' : 'ofJ';
  return [
    `${kind} over ${axis} by ${side}`,
    {
      data: labels,
      of: (t) => {
        const rows = (side === 'ofI' ? inI(t, side) : inJ(t, side)).gather(get(t, 'table'));
        const terms = inI(t, 'x').sub(inJ(t, 'y')).mul(rows).exp();
        const isScalar = DIM_ONE.includes(kind);
        return (isScalar ? terms.sum() : terms).reduction(
          kind,
          axis,
          kind === 'KMax' ? { k: 2 } : {},
        );
      },
      meant: {
        kind,
        axis,
        k: kind === 'KMax' ? 2 : undefined,
        term: ({ i, j, row }) => {
          const rows = row('table', numberOf(row(side, side === 'ofI' ? i : j)));
          const terms = product(difference(row('x', i), row('y', j)), rows).map((one) => one.exp());
          return { formula: DIM_ONE.includes(kind) ? [total(terms)] : terms };
        },
      },
      by: ['table', 'x', 'y'],
    },
  ];
});

/** Lookups of every kind of index. */
export const TABLE_CASES: readonly [string, TableCase][] = [
  ...kinds,
  [
    'a variable beside rows of it, taken twice',
    {
      data: { x: points.x, y: points.y, from: rowsBelow(M, 6, M), to: rowsBelow(M, 7, N) },
      of: (t) => {
        const x = inI(t, 'x');
        const [before, other] = [inI(t, 'from').gather(x), inJ(t, 'to').gather(x)];
        return x.sqdist(before).mul(x.dot(other)).mul(inJ(t, 'y').add(other)).reduction('Sum', 'i');
      },
      meant: {
        kind: 'Sum',
        axis: 'i',
        term: ({ i, j, row }) => {
          const [x, y] = [row('x', i), row('y', j)];
          const before = row('x', numberOf(row('from', i)));
          const other = row('x', numberOf(row('to', j)));
          const away = difference(x, before);
          const factor = dot(away, away).times(dot(x, other));
          return { formula: sum(y, other).map((one) => one.times(factor)) };
        },
      },
      by: ['x', 'y'],
    },
  ],
  [
    'rows of a variable by itself and by rows of it',
    {
      data: { x: rowsBelow(M, 8, M) },
      of: (t) => {
        const x = inI(t, 'x');
        const first = x.gather(x);
        return first.gather(x).mul(first).add(x.square()).reduction('Sum', 'j');
      },
      meant: {
        kind: 'Sum',
        axis: 'j',
        rowsJ: 1,
        term: ({ i, row }) => {
          const x = row('x', i);
          const first = row('x', numberOf(x));
          return { formula: sum(product(row('x', numberOf(first)), first), product(x, x)) };
        },
      },
      by: ['x'],
    },
  ],
  [
    'an index that changes with both sides',
    {
      data: { table, ...points },
      of: (t) => {
        const rows = rowNumberI().sub(rowNumberJ()).abs().gather(get(t, 'table')) as Lazy;
        return inI(t, 'x').mul(rows).dot(inJ(t, 'y')).reduction('LogSumExp', 'j');
      },
      meant: {
        kind: 'LogSumExp',
        axis: 'j',
        term: ({ i, j, row }) => ({
          formula: [dot(product(row('x', i), row('table', Math.abs(i - j))), row('y', j))],
        }),
      },
      by: ['table', 'x'],
    },
  ],
  [
    'an index that is one for all rows, and a weight',
    {
      data: { ...labels, at: rowsBelow(R, 9, 1) },
      of: (t) => {
        const one = param(get(t, 'at'));
        return inI(t, 'x')
          .dot(one.gather(get(t, 'table')))
          .add(inJ(t, 'y').sum())
          .reduction('SumSoftMaxWeight', 'j', { weight: inJ(t, 'ofJ').gather(get(t, 'table')) });
      },
      meant: {
        kind: 'SumSoftMaxWeight',
        axis: 'j',
        term: ({ i, j, row }) => {
          const one = row('table', numberOf(row('at')));
          return {
            formula: [dot(row('x', i), one).plus(total(row('y', j)))],
            weight: row('table', numberOf(row('ofJ', j))),
          };
        },
      },
    },
  ],
  [
    'batches: of the index alone, and of table and cotangent',
    {
      data: {
        table: numbers(1, R, 2, { batch: [2, 1] }),
        own: numbers(10, R, 2, { batch: [2, 3] }),
        x: numbers(2, M, 2, { batch: [3] }),
        ofI: rowsBelow(R, 4, M, [2, 3]),
        ofJ: rowsBelow(R, 5, N, [3]),
      },
      of: (t) => {
        const [a, b] = ['ofI', 'ofJ'].map((name) =>
          (name === 'ofI' ? inI(t, name) : inJ(t, name)).gather(get(t, 'table')),
        ) as [Lazy, Lazy];
        const pairs = rowNumberI().add(rowNumberJ()).mul(0.5).gather(get(t, 'table')) as Lazy;
        const rows = inJ(t, 'ofJ').gather(get(t, 'own')).mul(pairs);
        return inI(t, 'x').mul(a).dot(b.add(rows)).reduction('Sum', 'j');
      },
      meant: {
        kind: 'Sum',
        axis: 'j',
        term: ({ i, j, row }) => {
          const [atI, atJ] = [numberOf(row('ofI', i)), numberOf(row('ofJ', j))];
          const pairs = row('table', Math.floor((i + j) * 0.5 + 0.5));
          const rows = product(row('own', atJ), pairs);
          const x = product(row('x', i), row('table', atI));
          return { formula: [dot(x, sum(row('table', atJ), rows))] };
        },
      },
      by: ['table', 'own', 'x'],
    },
  ],
];
