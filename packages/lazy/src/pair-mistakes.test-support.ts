import { tensor, zeros } from '@mercer/tensor';
import {
  genred,
  gradient,
  lazyI,
  lazyJ,
  lazyPair,
  rangesFromMatrix,
  withGradients,
} from './index.js';
import type { Mistake } from './matrix-mistakes.test-support.js';

const matrix = [
  [1, 2, 3],
  [4, 5, 6],
];

/** Mistakes with values of pairs. */
export const PAIR_MISTAKES: readonly Mistake[] = [
  [
    'values of pairs of other rows of i',
    ({ x }) => lazyPair(matrix, { name: 'm' }).mul(lazyI(x, { name: 'a' })),
    'SHAPE_MISMATCH',
    /m \(values of pairs, number data \[2, 3, 1\]\) has 2 rows of i and a \(i-variable.* has 3/,
    /exchange them with t\(\)/,
  ],
  [
    'values of pairs of other rows of j',
    ({ y }) => lazyJ(y, { name: 'b' }).mul(lazyPair(matrix, { name: 'm' })),
    'SHAPE_MISMATCH',
    /b \(j-variable.* has 4 rows of j and m \(values of pairs.* has 3/,
  ],
  [
    'two matrices of pairs that differ',
    () => lazyPair(matrix).add(lazyPair(matrix).t()),
    'SHAPE_MISMATCH',
    /the values of pairs .* has 2 rows of i and .* has 3/,
  ],
  [
    'values of pairs with one axis',
    () => lazyPair([1, 2, 3], { name: 'm' }),
    'SHAPE_MISMATCH',
    /m has shape \[3\], and values of pairs need two axes at least, \(..batch, M, N\)/,
  ],
  [
    'components of pairs without their axis',
    () => lazyPair(matrix, { components: true, name: 'm' }),
    'SHAPE_MISMATCH',
    /m has shape \[2, 3\], and values of pairs need three axes at least/,
  ],
  [
    'no components',
    () => lazyPair({ data: new Float32Array(0), shape: [2, 3, 0] }, { components: true }),
    'SHAPE_MISMATCH',
    /have no components/,
  ],
  [
    'components that are no choice',
    () => lazyPair(matrix, { components: 3 as never }),
    'INVALID_ARGUMENT',
    /components is 3. Pass true/,
  ],
  [
    'a placeholder of one component with an axis for it',
    () => lazyPair({ position: 0, dim: 1 }, { components: true }),
    'INVALID_ARGUMENT',
    /takes \(..batch, M, N\)/,
  ],
  [
    'values of pairs in whole numbers',
    async ({ x }) =>
      lazyPair((await tensor(matrix, { device: x.device, dtype: 'int32' })) as never, {
        name: 'm',
      }),
    'DTYPE_MISMATCH',
    /m is the int32 .*Cast it first/,
  ],
  [
    'values of pairs of another dtype',
    ({ x }) => lazyI(x).mul(lazyPair({ data: new Float64Array(6), shape: [3, 2] }, { name: 'm' })),
    'DTYPE_MISMATCH',
    /m \(values of pairs, float64 data \[3, 2, 1\]\) is float64/,
  ],
  [
    'batches of pairs that do not broadcast',
    async ({ x }) => {
      const m = await zeros([2, 3, 4], { device: x.device });
      const y = await zeros([3, 4, 2], { device: x.device });
      return lazyPair(m, { name: 'm' }).mul(lazyJ(y)).sum('j');
    },
    'SHAPE_MISMATCH',
    /batch axes \[3\], which do not broadcast with \[2\] of m \(values of pairs/,
  ],
  [
    'rows of pairs by index',
    ({ x }) =>
      lazyI(x)
        .elem(0)
        .gather(lazyPair(matrix, { name: 'm' })),
    'INVALID_ARGUMENT',
    /the table is m \(values of pairs.*, which one row number does not find/,
  ],
  [
    'rows of pairs by index, in text',
    () => genred('Gather(m, x)', ['m = Vij(1)', 'x = Vi(1)']),
    'INVALID_ARGUMENT',
    /input 0 has values of pairs, and no rows that one index finds/,
  ],
  [
    'an argument of pairs of another dim',
    ({ x }) => genred('m * x', ['m = Vij(3)', 'x = Vi(1)'], { axis: 'j' })(matrix, x),
    'SHAPE_MISMATCH',
    /m has shape \[2, 3\], and values of pairs need three axes/,
  ],
  [
    'components of an argument of pairs of another dim',
    ({ x }) => genred('m * x', ['m = Vij(3)', 'x = Vi(1)'], { axis: 'j' })([matrix], x),
    'SHAPE_MISMATCH',
    /m has shape \[1, 2, 3\]|declares dim 1/,
  ],
  [
    'a result that is declared as values of pairs',
    () => genred('Grad(Sum_Reduction(m, 0), m, x)', ['m = Vij(1)', 'x = Vi(1)']),
    'NOT_DIFFERENTIABLE',
    /derivative is a value of each pair and no reduction/,
  ],
  [
    'a dense array of symbolic rows',
    ({ x }) => lazyPair(matrix).mul(x as never),
    'INVALID_ARGUMENT',
    /Pass a number or a symbolic matrix/,
  ],
  [
    'a gradient by values of pairs within ranges that do not fit',
    () => {
      const m = lazyPair(matrix, { name: 'm' });
      const ranges = rangesFromMatrix([[0, 2]], [[0, 9]], [[1]]);
      return gradient(m.square().reduction('Sum', 'j'), m, [[1], [1]], { ranges });
    },
    'INVALID_ARGUMENT',
    /gradient: cannot plan ranges: redrangesJ\[0\] is \[0, 9\], and there are \d rows/,
  ],
  [
    'a gradient by values of pairs within ranges of more rows than float32 can tell apart',
    async () => {
      const rows = 2 ** 24 + 1;
      const m = lazyPair(await zeros([1, rows], { device: 'cpu' }), { name: 'm' });
      const ranges = rangesFromMatrix([[0, 1]], [[0, rows]], [[1]]);
      return gradient(m.square().reduction('Sum', 'j'), m, [[1]], { ranges });
    },
    'UNSUPPORTED',
    /compares row numbers.*float32.*up to 16777216; the reduced side has 16777217 rows. Compute it in float64/,
  ],
  [
    'a gradient over i by values of pairs within ranges of one direction',
    () => {
      const m = lazyPair(matrix, { name: 'm' });
      const ranges = { rangesI: [[0, 2]], slicesI: [1], redrangesJ: [[0, 2]] } as const;
      return gradient(m.square().reduction('Sum', 'i'), m, [[1], [1], [1]], { ranges });
    },
    'INVALID_ARGUMENT',
    /gradient: the ranges have no rangesJ/,
  ],
  [
    'a gradient by values of pairs as a sum of the kept side',
    () => {
      const m = lazyPair(matrix, { name: 'm' });
      return withGradients(m.square().reduction('Sum', 'j'), { slope: m });
    },
    'INVALID_ARGUMENT',
    /m \(values of pairs.*is not of i.*Use valueAndGradients/,
  ],
];
