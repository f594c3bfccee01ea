import { beforeAll, expect, it } from 'vitest';
import {
  arange,
  clamp,
  concat,
  diag,
  empty,
  eye,
  full,
  linspace,
  MercerError,
  oneHot,
  pad,
  random,
  stack,
  tensor,
  tile,
  where,
  zeros,
  type Tensor,
} from './index.js';

/* What a user reads who calls arithmetic, reductions, shaping and creators wrongly: whole messages, to be judged by eye when they change. */

const place = { device: 'cpu' } as const;

let a: Tensor<'float32'>;
let row: Tensor<'float32'>;
let truths: Tensor<'bool'>;
let disposed: Tensor<'float32'>;

beforeAll(async () => {
  a = await tensor([[1, 2, 3], [4, 5, 6]], place); // prettier-ignore
  row = await tensor([1, 2], place);
  truths = await tensor([true, false], place);
  disposed = await zeros([2, 3], place);
  disposed.dispose();
});

/** What each call throws or rejects with; tensors without their numbers. */
async function refusals(calls: readonly (() => unknown)[]): Promise<string> {
  const lines = await Promise.all(
    calls.map(async (call) => {
      try {
        await call();
      } catch (error) {
        if (!(error instanceof MercerError)) throw error;
        return `${error.code}: ${error.message.replaceAll(/tensor #\d+/g, 'tensor')}`;
      }
      throw new Error(`went through: ${call.toString()}`);
    }),
  );
  return `\n${lines.join('\n')}\n`;
}

const none = undefined as never;

it('of elementwise operations', async () => {
  expect(
    await refusals([
      () => a.add(row),
      () => a.add('1' as never),
      () => a.add([1, 2] as never),
      () => a.add(none),
      () => a.add(Promise.resolve(row) as never),
      () => a.mul(disposed),
      () => a.neg({ out: row }),
      () => a.neg({ out: truths }),
      () => a.neg({ out: 3 as never }),
      () => a.neg({ stream: 'fast' as never }),
      () => a.exp({ Out: a } as never),
      () => a.transpose().add(1, { out: a.transpose().transpose() }),
      () => where(truths, a, 0),
      () => where(1 as never, 2, 3),
      () => clamp(a, 'low' as never, 1),
      () => clamp(a, 0, null as never),
      () => clamp(a, row, 1),
      () => clamp(a, none, none),
      () => clamp(a, 0, 1, { out: truths }),
    ]),
  ).toMatchInlineSnapshot(`
    "
    SHAPE_MISMATCH: add: shapes [2, 3] and [2] do not broadcast. Counted from the last axis, extents must be equal or 1.
    INVALID_ARGUMENT: add: operand 2: expected a tensor, got "1". Make one with tensor(data).
    INVALID_ARGUMENT: add: operand 2: expected a tensor, got an array of 2. Make one with tensor(data).
    INVALID_ARGUMENT: add: an operand is missing. Pass 2: tensors, or numbers beside a tensor.
    INVALID_ARGUMENT: add: operand 2 is a Promise. Did you forget await?
    DISPOSED: float32 [2, 3] tensor on cpu was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.
    SHAPE_MISMATCH: neg: out is float32 [2] tensor on cpu and the result has shape [2, 3]. Allocate it with that shape.
    DTYPE_MISMATCH: neg: out is bool [2] tensor on cpu and the result is float32. Allocate it with dtype 'float32'.
    INVALID_ARGUMENT: neg: out: expected a tensor, got 3. Make one with tensor(data).
    INVALID_ARGUMENT: neg: options.stream is not a stream of this package. Use device.createStream().
    INVALID_ARGUMENT: exp: there is no option 'Out'. Did you mean 'out'? The options are stream, out, signal, debug.
    SHAPE_MISMATCH: add: out is float32 [2, 3] tensor on cpu and the result has shape [3, 2]. Allocate it with that shape.
    SHAPE_MISMATCH: where: shapes [2] and [2, 3] do not broadcast. Counted from the last axis, extents must be equal or 1.
    INVALID_ARGUMENT: where: 1 and 2 and 3 are no tensors. Pass a tensor for one of them, or use JavaScript's own arithmetic.
    INVALID_ARGUMENT: clamp: least: expected a tensor, got "low". Make one with tensor(data).
    INVALID_ARGUMENT: clamp: most: expected a tensor, got null. Make one with tensor(data).
    SHAPE_MISMATCH: clamp: shapes [2, 3] and [2] do not broadcast. Counted from the last axis, extents must be equal or 1.
    INVALID_ARGUMENT: clamp: an operand is missing. Pass 2: tensors, or numbers beside a tensor.
    DTYPE_MISMATCH: clamp: out is bool [2] tensor on cpu and the result is float32. Allocate it with dtype 'float32'.
    "
  `);
});

it('of reductions over axes', async () => {
  expect(
    await refusals([
      () => a.sum(2),
      () => a.sum([0, 0]),
      () => a.sum('rows' as never),
      () => a.mean(0, { keepDims: 1 as never }),
      () => a.max(0, { keepdims: true } as never),
      () => a.argMin(0.5),
      () => a.var(0, { correction: '1' as never }),
      () => a.std(3),
      () => a.norm(0, { ord: -1 }),
      () => a.norm(0, { out: row }),
      () => a.softmax(2),
      () => a.logSumExp(0, { out: truths }),
      () => disposed.sum(),
    ]),
  ).toMatchInlineSnapshot(`
    "
    INVALID_ARGUMENT: sum: axis 2 of shape [2, 3]. Use -2 to 1.
    INVALID_ARGUMENT: sum: axes [0, 0] of shape [2, 3] name one axis twice. Name each once.
    INVALID_ARGUMENT: sum: the axes are "rows". Pass an axis such as -1, an array of them, or nothing for all; options are behind them.
    INVALID_ARGUMENT: mean: keepDims is 1. Pass true or false.
    INVALID_ARGUMENT: max: there is no option 'keepdims'. Did you mean 'keepDims'? The options are stream, out, signal, debug, keepDims.
    INVALID_ARGUMENT: argMin: axis 0.5 of shape [2, 3]. Use -2 to 1.
    INVALID_ARGUMENT: var: the correction is "1". Pass a number, such as 1 for a sample.
    INVALID_ARGUMENT: std: axis 3 of shape [2, 3]. Use -2 to 1.
    INVALID_ARGUMENT: norm: ord is -1. Pass a positive number, or Infinity for the largest magnitude.
    SHAPE_MISMATCH: norm: out is float32 [2] tensor on cpu and the result has shape [3]. Allocate it with that shape.
    INVALID_ARGUMENT: softmax: axis 2 of shape [2, 3]. Use -2 to 1.
    DTYPE_MISMATCH: logSumExp: out is bool [2] tensor on cpu and the result is float32. Allocate it with dtype 'float32'.
    DISPOSED: float32 [2, 3] tensor on cpu was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.
    "
  `);
});

it('of operations on shapes', async () => {
  expect(
    await refusals([
      () => a.reshape([4, 2]),
      () => a.permute([0, 0]),
      () => a.slice([0, 1], 0, 0),
      () => a.slice(5),
      () => a.broadcastTo([3, 3]),
      () => concat([], 0),
      () => concat([a, row], 0),
      () => concat([a, truths as never], 0),
      () => stack([a, row], 0),
      () => stack([a, a], 4),
      () => tile(a, -1),
      () => pad(a, [1] as never),
      () => pad(a, -1),
      () => pad(a, 1, { value: 'x' as never }),
      () => a.split(2, 1),
      () => a.flip(7),
      () => diag(a.reshape([1, 2, 3])),
    ]),
  ).toMatchInlineSnapshot(`
    "
    SHAPE_MISMATCH: reshape: [2, 3] has 6 elements and [4, 2] has 8. Choose a shape of the same size.
    INVALID_ARGUMENT: permute: axes [0, 0] for shape [2, 3]. Name each of the 2 dimensions once.
    SHAPE_MISMATCH: slice: 3 ranges for shape [2, 3]. Give at most one range per dimension.
    INVALID_ARGUMENT: slice: index 5 is outside dimension 0 of shape [2, 3]. Use -2 to 1.
    SHAPE_MISMATCH: broadcastTo: shape [2, 3] does not broadcast to [3, 3]. Trailing extents must be equal or 1.
    INVALID_ARGUMENT: concat: the array of tensors is empty. Pass at least one.
    SHAPE_MISMATCH: concat: float32 [2, 3] tensor on cpu and float32 [2] tensor on cpu differ beside axis 0. All extents but that of the axis must be equal; broadcastTo() or reshape() one of them.
    SHAPE_MISMATCH: concat: float32 [2, 3] tensor on cpu and bool [2] tensor on cpu differ beside axis 0. All extents but that of the axis must be equal; broadcastTo() or reshape() one of them.
    SHAPE_MISMATCH: stack: float32 [2, 3] tensor on cpu and float32 [2] tensor on cpu differ in shape. Stack tensors of one shape, or concat() along an axis that they have.
    INVALID_ARGUMENT: stack: axis 4 of a stack of shape [2, 3], which has one axis more. Use -3 to 2.
    INVALID_ARGUMENT: tile: -1 repetitions. Pass counts of 0 or more, one for each of the last axes.
    INVALID_ARGUMENT: pad: the widths are [1]. Pass a number, a pair [before, after], or a pair for each axis.
    INVALID_ARGUMENT: pad: width -1. Pass counts of 0 or more; slice() takes elements away.
    INVALID_ARGUMENT: pad: the value: "x" is not a number, bigint or boolean. Pass one of these.
    SHAPE_MISMATCH: split: axis 1 of shape [2, 3] has 3 elements, which are not 2 equal parts. Pass an array of sizes that add up to 3.
    INVALID_ARGUMENT: flip: axis 7 of shape [2, 3]. Use -2 to 1.
    SHAPE_MISMATCH: diag: x is float32 [1, 2, 3] tensor on cpu, of rank 3. Pass a vector, or a matrix; take one of several with slice().
    "
  `);
});

it('of creators', async () => {
  expect(
    await refusals([
      () => tensor([[1, 2], [3]], place), // prettier-ignore
      () => tensor('1, 2' as never, place),
      () => tensor(new Float32Array(6), { shape: [4], ...place }),
      () => tensor({ rows: 2 } as never, place),
      () => tensor(Promise.resolve([1]) as never, place),
      () => empty([2, -1], place),
      () => empty(3 as never, place),
      () => zeros([2], { dtype: 'float31' as never, ...place }),
      () => full([2], 'x' as never, place),
      () => zeros([2], { device: 'gpu' as never }),
      () => arange(0, 1, 0, place),
      () => arange(0, Infinity, 1, place),
      () => linspace(0, 1, -1, place),
      () => eye(-2, place),
      () => oneHot(a as never, 3),
      () => oneHot(truths as never, 0),
      () => random.uniform([2], { key: 3 as never, ...place }),
      () => random.uniform([2], { low: 1, high: 0, key: random.key(1), ...place }),
      () => random.choice(3, [5], { replace: false, key: random.key(1), ...place }),
    ]),
  ).toMatchInlineSnapshot(`
    "
    SHAPE_MISMATCH: tensor: the first elements say shape [2, 2], but at depth 1 there is a row of length 1. Make all rows of one length.
    INVALID_ARGUMENT: tensor: "1, 2" is not a number, bigint or boolean. Pass one of these.
    SHAPE_MISMATCH: tensor: shape [4] has 4 elements and the data has 6. Make them agree.
    INVALID_ARGUMENT: tensor: an object is not a number, bigint or boolean. Pass one of these.
    INVALID_ARGUMENT: tensor: the data is a Promise. Did you forget await?
    INVALID_ARGUMENT: empty: extent -1 in shape [2, -1] is not a count. Use integers from 0 to 2^53 - 1.
    INVALID_ARGUMENT: empty: the shape is 3. Pass an array of extents such as [3, 4].
    INVALID_ARGUMENT: zeros: "float31" is not a dtype. Use float64, float32, float16, bfloat16, int64, int32, uint8 or bool.
    INVALID_ARGUMENT: fill: "x" is not a number, bigint or boolean. Pass one of these.
    INVALID_ARGUMENT: device: "gpu" is not a device. Use 'cpu', 'cuda', 'cuda:0' or what device() returned.
    INVALID_ARGUMENT: arange: the step from 0 to 1 is 0. Pass another, or linspace() for a number of elements.
    INVALID_ARGUMENT: arange: the stop is Infinity. Pass a finite number.
    INVALID_ARGUMENT: linspace: the count is -1. Pass how many numbers from 0 to 1, from 0 to 2^32.
    INVALID_ARGUMENT: eye: the rows are -2. Pass a count of 0 or more.
    DTYPE_MISMATCH: oneHot: the indices are float32 [2, 3] tensor on cpu. Pass int64, int32 or uint8; cast('int32') converts.
    INVALID_ARGUMENT: oneHot: the classes are 0. Pass how many there are, 1 or more.
    INVALID_ARGUMENT: uniform: the key is 3. Make one with random.key(seed), and others of it with random.split(key).
    INVALID_ARGUMENT: uniform: low is 1 and high is 0. Pass a high that is not below low, nor infinitely far from it.
    INVALID_ARGUMENT: choice: 5 numbers of 3, none twice. Draw at most n of them, or with replace: true.
    "
  `);
});
