import { gradient, lazyI, lazyJ, rowNumberJ, type LazyTensor, valueAndGradients } from './index.js';
import type { Mistake, MistakeData } from './matrix-mistakes.test-support.js';

const EMPTY_RANGES = { rangesI: [[0, 2]], slicesI: [1], redrangesJ: [[0, 0]] } as const;
const EMPTY_RANGES_OF_J = { rangesJ: [[0, 9]], slicesJ: [1], redrangesI: [[0, 0]] } as const;

/** One row again and again, which takes no memory. */
const manyRows = (x: MistakeData['x'], rows: number): LazyTensor =>
  lazyJ(x.slice([0, 1], [0, 1]).broadcastTo([rows, 1]));

/** Mistakes with the options of calls, and sides that are too long. */
export const CALL_MISTAKES: readonly Mistake[] = [
  [
    'ranges as a list, as in KeOps',
    ({ d }) => d.sum('j', { ranges: [[[0, 1]], [1], [[0, 1]]] as never }),
    'INVALID_ARGUMENT',
    /sum: the ranges have no array 'rangesI', but an array of 3.*rangesFromMatrix/,
  ],
  [
    'ranges by other names',
    ({ d }) => d.sum('j', { ranges: { ranges_i: [], slices_i: [] } as never }),
    'INVALID_ARGUMENT',
    /no array 'rangesI', but 'ranges_i', 'slices_i'/,
  ],
  [
    'ranges that are no pairs',
    ({ d }) => d.sum('j', { ranges: { ...EMPTY_RANGES, redrangesJ: [3] as never } }),
    'INVALID_ARGUMENT',
    /redrangesJ\[0\] of the ranges is 3.*\[start, end\]/,
  ],
  [
    'a range backwards',
    ({ d }) => d.sum('j', { ranges: { ...EMPTY_RANGES, redrangesJ: [[3, 1]] } }),
    'INVALID_ARGUMENT',
    /redrangesJ\[0\] is \[3, 1\], and there are 4 rows/,
  ],
  [
    'a range beyond the rows',
    ({ d }) => d.sum('i', { ranges: { ...EMPTY_RANGES, ...EMPTY_RANGES_OF_J } }),
    'INVALID_ARGUMENT',
    /\[0, 9\], and there are 4 rows/,
  ],
  [
    'an option that there is not',
    ({ d }) => d.sum('j', { rangs: EMPTY_RANGES } as never),
    'INVALID_ARGUMENT',
    /sum: there is no option 'rangs'. Did you mean 'ranges'\? The options are out, stream, device, dtype, .*ranges/,
  ],
  [
    'an option as KeOps calls it',
    ({ d }) => d.sum('j', { dtype_acc: 'float64' } as never),
    'INVALID_ARGUMENT',
    /no option 'dtype_acc'. Did you mean 'accumulate'\?/,
  ],
  [
    'an option that gradients have not',
    ({ d }) =>
      valueAndGradients(d.reduction('Sum', 'j'), { x: 'x' }, { dtype_acc: 'float64' } as never),
    'INVALID_ARGUMENT',
    /valueAndGradients: there is no option 'dtype_acc'/,
  ],
  [
    'gradients in a sum scheme that there is not',
    ({ d }) =>
      valueAndGradients(d.reduction('Sum', 'j'), { x: 'x' }, { sumScheme: 'pairwise' as never }),
    'INVALID_ARGUMENT',
    /valueAndGradients: sumScheme is "pairwise". Use one of block, direct, kahan/,
  ],
  [
    'a gradient accumulated in 16 bits',
    ({ d }) => gradient(d.reduction('Sum', 'j'), 'x', [[1]], { accumulate: 'float16' as never }),
    'INVALID_ARGUMENT',
    /gradient: accumulate is "float16". Use one of float32, float64/,
  ],
  [
    'an option that a description has not',
    ({ d }) => d.reduction('KMin', 'j', { k: 1, opt_arg: 2 } as never),
    'INVALID_ARGUMENT',
    /KMin: there is no option 'opt_arg'. Did you mean 'k'\?/,
  ],
  [
    'an option that a preparation has not',
    ({ d }) => d.reduction('Sum', 'j').prepare([], { out: [] } as never),
    'INVALID_ARGUMENT',
    /there is no option 'out'/,
  ],
  [
    'an option that a gradient has not',
    ({ d, x }) => gradient(d.reduction('Sum', 'j'), lazyI(x), x, { dtype: 'float64' } as never),
    'INVALID_ARGUMENT',
    /gradient: there is no option 'dtype'/,
  ],
  [
    'an option that values with gradients have not',
    ({ d, x }) => valueAndGradients(d.reduction('Min', 'j'), { x: lazyI(x) }, { seed: x } as never),
    'INVALID_ARGUMENT',
    /valueAndGradients: there is no option 'seed'/,
  ],
  [
    'ranges of a dense matrix',
    ({ d }) => d.toDense({ ranges: EMPTY_RANGES } as never),
    'INVALID_ARGUMENT',
    /toDense: there is no option 'ranges'/,
  ],
  [
    'ranges of a diagonal',
    ({ d }) => d.diag({ ranges: EMPTY_RANGES } as never),
    'INVALID_ARGUMENT',
    /diag: there is no option 'ranges'/,
  ],
  [
    'an option that pairs have not',
    ({ d }) => d.nonzero('j', { accumulate: 'float64' } as never),
    'INVALID_ARGUMENT',
    /nonzero: there is no option 'accumulate'/,
  ],
  [
    'places of pairs that there are not',
    ({ d }) => d.nonzero('j', { out: { rows: 1 } } as never),
    'INVALID_ARGUMENT',
    /nonzero: out has 'rows', and there is { offsets, indices }/,
  ],
  [
    'row numbers that float32 has not',
    ({ x }) =>
      manyRows(x, 2 ** 24 + 1)
        .mul(rowNumberJ())
        .max('j'),
    'UNSUPPORTED',
    /max: the formula has the row number of j, of which there are 16777217 rows.*float32 up to 16777216.*float64/,
  ],
  [
    'more rows than int32 numbers',
    ({ x }) => manyRows(x, 2 ** 31).argMin('j'),
    'UNSUPPORTED',
    /argMin: the reduced side has 2147483648 rows.*2\^31 - 1/,
  ],
  [
    'float64 beside numbers of 16 bits',
    async ({ x }) => {
      const [half, wide] = [await x.cast('float16'), await x.cast('float64')];
      return lazyI(half, { name: 'a' }).add(lazyJ(wide, { name: 'b' }));
    },
    'DTYPE_MISMATCH',
    /a \(.*float16 .* counts as float32 and b \(.* is float64/,
  ],
];
