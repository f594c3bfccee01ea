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
import { evaluated } from './evaluated.test-support.js';
import { numbers, type Numbers } from './reference.test-support.js';

const [M, N, R] = [5, 4, 6];
const STEP = 1e-6;

type Lazy = LazyTensor<'float64'>;
type Of = LazyReduction<ReductionKind, 'float64'>;

/** Data by name, and what is computed of it. */
export interface TableCase {
  readonly data: Readonly<Record<string, Numbers>>;
  readonly of: (t: Readonly<Record<string, Tensor<'float64'>>>) => Of;
  /** By which of the data; default: table. */
  readonly by?: readonly string[];
}

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
      by: ['table', 'own', 'x'],
    },
  ],
];

/** The gradient of the weighted sum of all values by some data, by differences of the float64 reference. */
export function differences(
  of: Of,
  dataOf: ReadonlyMap<string, Numbers>,
  by: Numbers,
  cotangent: Numbers,
): Float64Array {
  const data = of.inputs.map(({ source }) => {
    const found = source.kind === 'tensor' ? dataOf.get(source.tensor.label) : undefined;
    if (found === undefined) throw new Error('every input is of the data');
    return found;
  });
  const rowsOf = (category: string): number =>
    of.inputs.find((one) => one.category === category)?.extent?.rows ?? 1;
  const counts = { rowsI: rowsOf('i'), rowsJ: rowsOf('j') };
  const total = (): number => {
    const { value = [] } = evaluated(of.reduction, data, counts);
    return value.reduce((sum, one, at) => sum + one * (cotangent.values[at] ?? NaN), 0);
  };
  return by.values.map((value, at) => {
    const [up, down] = [STEP, -STEP].map((step) => {
      by.values[at] = value + step;
      return total();
    }) as [number, number];
    by.values[at] = value;
    return (up - down) / (2 * STEP);
  });
}
