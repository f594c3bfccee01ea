import { empty, tensor, type Tensor } from '@mercer/tensor';
import {
  complexOf,
  gradient,
  lazy,
  lazyI,
  lazyJ,
  lowerTriangle,
  rowNumberJ,
  type LazyAxis,
  type LazyTensor,
} from './index.js';

/** What every mistake is made with. */
export interface MistakeData {
  readonly x: Tensor<'float32'>;
  readonly y: Tensor<'float32'>;
  readonly d: LazyTensor<'float32'>;
}

/** What must go wrong, its code, and what the message must say: the variable, what was expected and what was found. */
export type Mistake = readonly [
  what: string,
  run: (data: MistakeData) => unknown,
  code: string,
  ...says: RegExp[],
];

/** Mistakes with variables, operations and reductions. */
export const MATRIX_MISTAKES: readonly Mistake[] = [
  [
    'rows that differ',
    ({ x, y }) => lazyI(x, { name: 'a' }).add(lazyI(y, { name: 'b' })),
    'SHAPE_MISMATCH',
    /a \(i-variable.*3 rows/,
    /b \(i-variable.*has 4/,
  ],
  [
    'dims that differ',
    ({ x }) => lazyI(x, { name: 'a' }).sub(lazyJ([[1, 2, 3]], { name: 'b' })),
    'DIM_MISMATCH',
    /a \(.*dim 2/,
    /b \(.*dim 3/,
  ],
  [
    'dtypes that differ',
    ({ x }) =>
      lazyI(x, { name: 'a' }).add(
        lazyJ({ data: new Float64Array(2), shape: [1, 2] }, { name: 'b' }),
      ),
    'DTYPE_MISMATCH',
    /a .* is float32/,
    /b .* is float64/,
    /cast/,
  ],
  [
    'batch axes that do not broadcast',
    ({ x }) =>
      lazyI(x.broadcastTo([2, 3, 2]), { name: 'a' }).add(
        lazyJ(x.broadcastTo([3, 3, 2]), { name: 'b' }),
      ),
    'SHAPE_MISMATCH',
    /b .*\[3\]/,
    /\[2\] of a/,
  ],
  [
    'one axis',
    () => lazyI([1, 2, 3], { name: 'a' }),
    'SHAPE_MISMATCH',
    /a has shape \[3\]/,
    /\(n, 1\)/,
  ],
  [
    'no components',
    ({ x }) => lazyJ(x.slice(null, [0, 0]), { name: 'a' }),
    'SHAPE_MISMATCH',
    /a has shape \[3, 0\]/,
  ],
  [
    'a dense array',
    () =>
      lazy(
        [
          [[1], [2]],
          [[3], [4]],
        ],
        { name: 'a' },
      ),
    'SHAPE_MISMATCH',
    /a has shape \[2, 2, 1\]: it is dense/,
  ],
  [
    'options in the place of the axis and behind it',
    ({ x }) => lazy(x, { name: 'a' }, { name: 'a' }),
    'INVALID_ARGUMENT',
    /the axis is an object/,
    /lazy\(data, 'i', options\)/,
  ],
  [
    'an axis that there is not',
    ({ x }) => lazy(x, 'k' as never),
    'INVALID_ARGUMENT',
    /the axis is "k"/,
    /Pass 'i' or 'j'/,
  ],
  [
    'two axes without saying which, as undefined',
    ({ x }) => lazy(x, undefined, { name: 'a' }),
    'SHAPE_MISMATCH',
    /a has shape \[3, 2\]/,
    /lazy\(x, 'i'\)/,
  ],
  [
    'two axes without saying which',
    ({ x }) => lazy(x, { name: 'a' }),
    'SHAPE_MISMATCH',
    /a has shape \[3, 2\]/,
    /lazy\(x, 'i'\)/,
  ],
  [
    'whole numbers',
    async ({ x }) => lazyI((await x.cast('int32')) as never, { name: 'a' }),
    'DTYPE_MISMATCH',
    /a is the int32/,
    /cast/,
  ],
  ['no data', () => lazyI(undefined as never, { name: 'a' }), 'INVALID_ARGUMENT', /a/],
  [
    'a disposed tensor',
    async () => {
      const gone = await tensor([[1]], { device: 'cpu' });
      gone.dispose();
      return lazyI(gone);
    },
    'DISPOSED',
    /disposed/,
  ],
  [
    'a text as operand',
    ({ d }) => d.add('1' as never),
    'INVALID_ARGUMENT',
    /add: operand 1 is "1"/,
  ],
  ['a tensor as operand', ({ d, x }) => d.add(x as never), 'INVALID_ARGUMENT', /lazyI\(x\)/],
  [
    'a complex operand',
    ({ d, x }) => d.add(complexOf(lazyI(x))),
    'INVALID_ARGUMENT',
    /complex and the other is real/,
  ],
  [
    'a text as complex operand',
    ({ x }) => complexOf(lazyI(x)).mul('1' as never),
    'INVALID_ARGUMENT',
    /mul: operand 1 is "1"/,
  ],
  [
    'an option of a product that there is not',
    ({ d }) => d.matmul([[1], [1], [1], [1]], { rangs: [] } as never),
    'INVALID_ARGUMENT',
    /matmul: there is no option 'rangs'/,
  ],
  [
    'no complex vector',
    () => complexOf(undefined as never),
    'INVALID_ARGUMENT',
    /complexOf: x is undefined/,
  ],
  ['an odd complex vector', () => complexOf(lazyI([[1, 2, 3]])), 'DIM_MISMATCH', /dim 3/],
  [
    'an axis that is none',
    ({ d }) => d.sum(1 as never),
    'INVALID_ARGUMENT',
    /the axis is 1/,
    /'j'/,
  ],
  [
    'an axis by another name',
    ({ d }) => d.reduction('Sum', 'rows' as LazyAxis),
    'INVALID_ARGUMENT',
    /"rows"/,
  ],
  [
    'a reduction that is none',
    ({ d }) => d.reduction('Median' as never, 'j'),
    'INVALID_ARGUMENT',
    /"Median"/,
  ],
  [
    'a vector where a number is needed',
    ({ x }) => lazyI(x).logSumExp('j'),
    'DIM_MISMATCH',
    /dim 2/,
  ],
  ['k of 0', ({ d }) => d.kMin(0, 'j'), 'INVALID_ARGUMENT', /k is 0/],
  ['k that is not whole', ({ d }) => d.argKMin(1.5, 'j'), 'INVALID_ARGUMENT', /k is 1.5/],
  [
    'k for a sum',
    ({ d }) => d.reduction('Sum', 'j', { k: 2 }),
    'INVALID_ARGUMENT',
    /Sum takes no k/,
  ],
  [
    'a weight for a sum',
    ({ d }) => d.reduction('Sum', 'j', { weight: d }),
    'INVALID_ARGUMENT',
    /Sum takes no weight/,
  ],
  [
    'no weight',
    ({ d }) => d.reduction('SumSoftMaxWeight', 'j'),
    'INVALID_ARGUMENT',
    /needs a weight/,
  ],
  ['a component that is not there', ({ d }) => d.elem(1), 'INVALID_ARGUMENT', /elem/],
  [
    'a derivative by a formula',
    ({ d }) => d.grad(d),
    'NOT_DIFFERENTIABLE',
    /is no variable but a formula/,
  ],
  [
    'a placeholder without data',
    ({ d }) => d.mul(lazyI({ position: 0, dim: 1 }, { name: 'w' })).sum('j'),
    'UNBOUND_VARIABLE',
    /w \(i-variable, placeholder 0 of dim 1\) is not bound/,
  ],
  [
    'a placeholder without a dim',
    () => lazyI({ position: 0, dim: 0 }),
    'INVALID_ARGUMENT',
    /dim is 0/,
  ],
  [
    'data of another dim for a placeholder',
    ({ x }) => lazyI({ position: 0, dim: 3 }, { name: 'w' }).reduction('Sum', 'j').call([x]),
    'SHAPE_MISMATCH',
    /w has shape \[3, 2\]/,
    /declares dim 3/,
  ],
  [
    'too many arguments',
    ({ d, x }) => d.reduction('Sum', 'j').call([x]),
    'INVALID_ARGUMENT',
    /1 arguments given, and the formula has no placeholders/,
  ],
  [
    'a dense placeholder',
    () => lazyI({ position: 0, dim: 1 }).toDense(),
    'UNBOUND_VARIABLE',
    /has no data yet/,
  ],
  [
    'row numbers of no rows',
    ({ x }) => lazyI(x).sum().add(rowNumberJ()).sum('j'),
    'INVALID_ARGUMENT',
    /row number of j/,
  ],
  ['a mask alone', () => lowerTriangle().toDense(), 'INVALID_ARGUMENT', /row number of i/],
  [
    'a diagonal that is half',
    () => lowerTriangle(0.5),
    'INVALID_ARGUMENT',
    /0.5 is no whole number/,
  ],
  ['a diagonal of a rectangle', ({ d }) => d.diag(), 'INVALID_ARGUMENT', /3 rows of i and 4 of j/],
  ['a row that is not there', ({ d }) => d.rows(3), 'INVALID_ARGUMENT', /rows 3 of 3/],
  ['rows backwards', ({ d }) => d.rows([2, 0, -1]), 'INVALID_ARGUMENT', /\[2, 0, -1\] of 3/],
  [
    'an output of another shape',
    ({ d, x }) => d.sum('j', { out: empty([4, 1], { device: x.device }) }),
    'SHAPE_MISMATCH',
    /\[4, 1\]/,
  ],
  [
    'an output of another dtype',
    ({ d, x }) =>
      d.sum('j', { out: empty([3, 1], { device: x.device, dtype: 'float64' }) as never }),
    'DTYPE_MISMATCH',
    /float64/,
  ],
  [
    'an output that is an input',
    ({ x }) =>
      lazyI(x)
        .add(lazyJ([[0, 0]]))
        .sum('j', { out: x }),
    'OVERLAP',
    /shares memory/,
  ],
  [
    'an output that is not one',
    ({ d }) => d.sum('j', { out: [1] as never }),
    'INVALID_ARGUMENT',
    /out is not a tensor/,
  ],
  [
    'one output for two results',
    ({ d, x }) => d.minArgMin('j', { out: x as never }),
    'INVALID_ARGUMENT',
    /\{ values, indices \}/,
  ],
  [
    'an option dtype against the data',
    ({ d }) => d.sum('j', { dtype: 'float64' }),
    'DTYPE_MISMATCH',
    /the option dtype is "float64" and the inputs are float32/,
  ],
  [
    'ragged rows',
    ({ x }) =>
      lazyI([[1, 2], [3]])
        .add(lazyJ(x))
        .sum('j'),
    'SHAPE_MISMATCH',
    /row/,
  ],
  ['a vector of the wrong length', ({ d }) => d.matmul([1, 2]), 'SHAPE_MISMATCH', /v .*2/],
  [
    'a cotangent of another shape',
    ({ d, x }) => gradient(d.reduction('Sum', 'j'), lazyI(x), [[1], [1]]),
    'SHAPE_MISMATCH',
    /cotangent.*\[2, 1\].*\[3, 1\]/,
  ],
  [
    'a gradient of indices',
    ({ d, x }) => gradient(d.reduction('ArgMin', 'j'), lazyI(x), [[1], [1], [1]]),
    'NOT_DIFFERENTIABLE',
    /ArgMin/,
  ],
  [
    'a mask of several numbers',
    ({ x, y }) => lazyI(x).lt(lazyJ(y)).nonzero('j'),
    'DIM_MISMATCH',
    /nonzero: the mask has dim 2/,
  ],
  [
    'an axis that is none, of pairs',
    ({ d }) => d.nonzero('k' as LazyAxis),
    'INVALID_ARGUMENT',
    /nonzero: the axis is "k"/,
  ],
  [
    'pairs of a placeholder',
    ({ d }) => d.sub(lazyI({ position: 0, dim: 1 }, { name: 'w' })).nonzero('j'),
    'UNBOUND_VARIABLE',
    /w \(i-variable/,
  ],
  [
    'values of other rows than the mask',
    ({ x, y, d }) => d.nonzero('j', { values: lazyI(y, { name: 'w' }).sub(lazyI(x)) }),
    'SHAPE_MISMATCH',
    /w \(i-variable.*has 4|has 4/,
  ],
  [
    'values that are no matrix',
    ({ d }) => d.nonzero('j', { values: 'x' as unknown as LazyTensor }),
    'INVALID_ARGUMENT',
    /nonzero: values is "x"/,
  ],
  [
    'complex values of pairs',
    ({ x, d }) => d.nonzero('j', { values: complexOf(lazyI(x)) }),
    'INVALID_ARGUMENT',
    /nonzero: values is complex/,
  ],
  [
    'more than 64 values of pairs',
    ({ d }) =>
      d.nonzero('j', {
        values: lazyI([Array(400).fill(1), Array(400).fill(1), Array(400).fill(1)] as number[][]),
      }),
    'UNSUPPORTED',
    /nonzero: .*writes 400 numbers for a pair, and 64 is the most/,
  ],
  ...[
    ['bins that are none', 0, [0, 1], /bins is 0/],
    ['half a bin', 1.5, [0, 1], /bins is 1.5/],
    ['a range without width', 2, [1, 1], /range is \[1, 1\]/],
    ['a range that does not end', 2, [0, Infinity], /range is/],
  ].map(([what, bins, range, says]): Mistake => [
    what as string,
    ({ d }) => d.histogram('j', { bins: bins as number, range: range as [number, number] }),
    'INVALID_ARGUMENT',
    says as RegExp,
  ]),
  [
    'a histogram of vectors',
    ({ x, y }) =>
      lazyI(x)
        .sub(lazyJ(y))
        .histogram('j', { bins: 2, range: [0, 1] }),
    'DIM_MISMATCH',
    /histogram: the values have dim 2/,
  ],
  [
    'a histogram over no axis',
    ({ d }) => d.histogram('k' as LazyAxis, { bins: 2, range: [0, 1] }),
    'INVALID_ARGUMENT',
    /histogram: the axis is "k"/,
  ],
];
