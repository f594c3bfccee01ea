import { lazyI, lazyJ } from '@mercer/lazy';
import { random, tensor, type Tensor } from '@mercer/tensor';
import { beforeAll, expect, it } from 'vitest';
import {
  blockColumns,
  blockRows,
  cg,
  denseOperator,
  gmres,
  jacobi,
  kroneckerOperator,
  lowRankOperator,
  lsmr,
  lsqr,
  minres,
  eigenPro,
  falkon,
  nystrom,
  operator,
  pivotedCholesky,
  sparseOperator,
  storedOperator,
  type LinearOperator,
} from './index.js';

const where = { device: 'cpu', dtype: 'float64' } as const;
let square: LinearOperator<'float64'>;
let wide: LinearOperator<'float64'>;
let single: LinearOperator<'float64'>;
let b: Tensor<'float64'>;
let matrix: Tensor<'float64'>;
let rectangle: Tensor<'float64'>;

beforeAll(async () => {
  matrix = await tensor([[2, 0], [0, 3]], where); // prettier-ignore
  rectangle = await tensor([[1, 2, 3], [4, 5, 6]], where); // prettier-ignore
  [square, wide] = [denseOperator(matrix), denseOperator(rectangle)];
  single = denseOperator(await matrix.cast('float32')) as never;
  b = await tensor([1, 2], where);
});

const form = { shape: [2, 2], dtype: 'float64', device: 'cpu' } as const;
const offsets = (...all: number[]): Promise<Tensor<'int32'>> =>
  tensor(Int32Array.from(all), { device: 'cpu' });

/** Calls with the code and a part of the message that they are refused with. */
const REFUSED: Readonly<Record<string, readonly [() => unknown, code: string, said: string]>> = {
  'cg of no operator': [() => cg(matrix as never, b), 'INVALID_ARGUMENT', 'Pass a LinearOperator'],
  'cg of a rectangle': [() => cg(wide, b), 'SHAPE_MISMATCH', 'It must be square'],
  'cg of too long a b': [
    async () => cg(square, await tensor([1, 2, 3], where)),
    'SHAPE_MISMATCH',
    'b has shape [3]',
  ],
  'cg of another dtype': [() => cg(single, b), 'DTYPE_MISMATCH', 'b is float64'],
  'cg of an array': [() => cg(square, [1, 2] as never), 'INVALID_ARGUMENT', 'cg: b'],
  'minres of a rectangle': [() => minres(wide, b), 'SHAPE_MISMATCH', 'It must be square'],
  'gmres of a rectangle': [() => gmres(wide, b), 'SHAPE_MISMATCH', 'It must be square'],
  'a restart of nothing': [
    () => gmres(square, b, { restart: 0 }),
    'INVALID_ARGUMENT',
    'gmres: restart is 0',
  ],
  'least squares with too long a b': [
    async () => lsqr(wide, await tensor([1, 2, 3], where)),
    'SHAPE_MISMATCH',
    'lsqr: b has shape [3]',
  ],
  'damped least squares with too long a b': [
    async () => lsqr(wide, await tensor([1, 2, 3], where), { damp: 1 }),
    'SHAPE_MISMATCH',
    'lsqr: b has shape [3], and the operator [2, 3]',
  ],
  'x0 like b, where x is longer': [
    () => lsmr(wide, b, { x0: b }),
    'SHAPE_MISMATCH',
    'Pass float64 [3]',
  ],
  'least squares without the transpose': [
    () => lsqr(operator({ ...form, matvec: (v) => v.mul(1) }), b),
    'UNSUPPORTED',
    'lsqr: the operator has no rmatvec',
  ],
  'damp by a vector': [
    () => lsmr(wide, b, { damp: b }),
    'INVALID_ARGUMENT',
    'lsmr: damp is float64 [2]',
  ],
  'damp that is NaN': [() => lsmr(wide, b, { damp: NaN }), 'INVALID_ARGUMENT', 'lsmr: damp is NaN'],
  'a negative rtol': [() => cg(square, b, { rtol: -1 }), 'INVALID_ARGUMENT', 'rtol is -1'],
  'an atol that is NaN': [() => cg(square, b, { atol: NaN }), 'INVALID_ARGUMENT', 'atol is NaN'],
  'half an iteration': [
    () => cg(square, b, { maxIterations: 0.5 }),
    'INVALID_ARGUMENT',
    'maxIterations is 0.5',
  ],
  'progress to no function': [
    () => cg(square, b, { onIteration: 1 as never }),
    'INVALID_ARGUMENT',
    'onIteration is 1',
  ],
  'x0 of another shape': [
    () => cg(square, b, { x0: matrix }),
    'SHAPE_MISMATCH',
    'x0 is float64 [2, 2]',
  ],
  'a preconditioner of another shape': [
    () => cg(square, b, { preconditioner: wide }),
    'SHAPE_MISMATCH',
    'the preconditioner is',
  ],
  'a preconditioner that is none': [
    () => cg(square, b, { preconditioner: 1 as never }),
    'INVALID_ARGUMENT',
    'the preconditioner is 1',
  ],
  'vectors of another length': [
    () => wide.matvec(b),
    'SHAPE_MISMATCH',
    'Pass (3), or columns (3, K)',
  ],
  'vectors of another dtype': [() => single.matvec(b), 'DTYPE_MISMATCH', 'the vectors are float64'],
  'a sum of other shapes': [() => square.add(wide), 'SHAPE_MISMATCH', 'They must be equal'],
  'a sum of other dtypes': [() => square.add(single), 'DTYPE_MISMATCH', 'They must agree'],
  'a product that does not fit': [
    () => wide.matmul(square),
    'SHAPE_MISMATCH',
    'as many rows as the first has columns',
  ],
  'a shift of a rectangle': [() => wide.shift(1), 'SHAPE_MISMATCH', 'It must be square'],
  'a scale by a vector': [() => square.scale(b), 'INVALID_ARGUMENT', 'tensor of rank 0'],
  'a diagonal of a rectangle': [() => wide.diagonal(), 'SHAPE_MISMATCH', 'It must be square'],
  'a row that there is not': [
    () => square.rows([2]),
    'INVALID_ARGUMENT',
    '2 is no row of an operator with 2',
  ],
  'rows that are no array': [() => square.rows(1 as never), 'INVALID_ARGUMENT', 'indices are 1'],
  'a transpose that there is not': [
    () => operator({ ...form, matvec: (v) => v.mul(1) }).rmatvec(b),
    'UNSUPPORTED',
    'made without rmatvec',
  ],
  'a function that gives another shape': [
    () => operator({ ...form, matvec: (v) => v.reshape([-1]).clone() }).matvec(b),
    'SHAPE_MISMATCH',
    'the operator gave float64 [2]',
  ],
  'a function that gives another dtype': [
    () => operator({ ...form, matvec: (v) => v.cast('float32') }).matvec(b),
    'DTYPE_MISMATCH',
    'the operator gave float32',
  ],
  'an operator without matvec': [
    () => operator({ ...form } as never),
    'INVALID_ARGUMENT',
    'matvec is undefined',
  ],
  'rows by no function': [
    () => operator({ ...form, matvec: (v) => v.mul(1), rows: 1 as never }),
    'INVALID_ARGUMENT',
    'rows is 1',
  ],
  'an operator of half a shape': [
    () => operator({ ...form, shape: [2] as never, matvec: (v) => v.mul(1) }),
    'INVALID_ARGUMENT',
    'Pass [rows, columns]',
  ],
  'an operator of whole numbers': [
    () => operator({ ...form, dtype: 'int32' as never, matvec: (v) => v.mul(1) }),
    'DTYPE_MISMATCH',
    'the dtype is "int32"',
  ],
  'a symmetric rectangle': [
    () => operator({ ...form, shape: [2, 3], matvec: (v) => v.mul(1), rmatvec: 'symmetric' }),
    'SHAPE_MISMATCH',
    'Only square operators',
  ],
  'capturable by a word': [
    () => operator({ ...form, matvec: (v) => v.mul(1), capturable: 'yes' as never }),
    'INVALID_ARGUMENT',
    'capturable is "yes"',
  ],
  'memory that is negative': [
    () => storedOperator(square, { memory: -1 }),
    'INVALID_ARGUMENT',
    'storedOperator: memory is -1',
  ],
  'a stored vector': [() => denseOperator(b), 'SHAPE_MISMATCH', 'Pass a matrix'],
  'a diagonal that is too short': [
    () => lowRankOperator(rectangle.transpose(), b),
    'SHAPE_MISMATCH',
    'the diagonal is',
  ],
  'a Kronecker product of two dtypes': [
    async () => kroneckerOperator(matrix, (await matrix.cast('float32')) as never),
    'DTYPE_MISMATCH',
    'b is float32',
  ],
  'no blocks': [() => blockRows([]), 'INVALID_ARGUMENT', 'Pass one at least'],
  'blocks that do not fit': [() => blockRows([square, wide]), 'SHAPE_MISMATCH', 'as many columns'],
  'blocks of two dtypes': [() => blockColumns([square, single]), 'SHAPE_MISMATCH', 'as many rows'],
  'offsets that fall': [
    async () =>
      sparseOperator({
        offsets: await offsets(0, 2, 1),
        indices: await offsets(0),
        values: b.slice([0, 1]),
        columns: 2,
      }),
    'INVALID_ARGUMENT',
    'do not rise',
  ],
  'offsets that are none': [
    async () =>
      sparseOperator({
        offsets: await offsets(),
        indices: await offsets(0),
        values: b.slice([0, 1]),
        columns: 2,
      }),
    'SHAPE_MISMATCH',
    'Pass (rows + 1)',
  ],
  'a symbolic matrix of vectors': [
    () => lazyI(matrix).sub(lazyJ(matrix)).asOperator(),
    'SHAPE_MISMATCH',
    'one number for each pair',
  ],
  'a symbolic matrix of arrays': [
    () =>
      lazyI([[1]])
        .mul(lazyJ([[1]]))
        .asOperator(),
    'INVALID_ARGUMENT',
    'an array of the host',
  ],
  'jacobi without a diagonal': [
    () => jacobi(square.gram()),
    'UNSUPPORTED',
    'made without diagonal',
  ],
  'a rank beyond the rows': [
    () => pivotedCholesky(square, { rank: 3, shift: 1 }),
    'INVALID_ARGUMENT',
    'rank is 3',
  ],
  'a gain that is no share': [
    () => pivotedCholesky(square, { rank: 1, shift: 1, leastGain: 1 }),
    'INVALID_ARGUMENT',
    'leastGain is 1',
  ],
  'a rank of 0': [
    () => eigenPro(square, { rank: 0, shift: 1, key: random.key(1) }),
    'INVALID_ARGUMENT',
    'rank is 0',
  ],
  'a sample below the rank': [
    () => eigenPro(square, { rank: 2, sample: 1, shift: 1, key: random.key(1) }),
    'INVALID_ARGUMENT',
    'sample is 1. Pass a whole number from 2 to 2: the rank',
  ],
  'a sample beyond the rows': [
    () => eigenPro(square, { rank: 1, sample: 3, shift: 1, key: random.key(1) }),
    'INVALID_ARGUMENT',
    'sample is 3',
  ],
  'a power that raises eigenvalues': [
    () => eigenPro(square, { rank: 1, shift: 1, key: random.key(1), power: 1.5 }),
    'INVALID_ARGUMENT',
    'power is 1.5',
  ],
  'eigenvalues that are not positive': [
    () => eigenPro(square.scale(-1), { rank: 1, shift: 1, key: random.key(1) }),
    'INVALID_ARGUMENT',
    'the largest eigenvalue of a sample',
  ],
  'fewer rows than centres': [
    () => falkon(square, { rows: 1, penalty: 1 }),
    'INVALID_ARGUMENT',
    'rows is 1. Pass how many rows',
  ],
  'no penalty': [() => falkon(square, { rows: 2, penalty: 0 }), 'INVALID_ARGUMENT', 'penalty is 0'],
  'a negative jitter': [
    () => falkon(square, { rows: 2, penalty: 1, jitter: -1 }),
    'INVALID_ARGUMENT',
    'jitter is -1',
  ],
  'centres that are no square matrix': [
    () => falkon(wide, { rows: 9, penalty: 1 }),
    'SHAPE_MISMATCH',
    'must be square',
  ],
  'a matrix of centres that is not positive': [
    () => falkon(square.scale(-1), { rows: 2, penalty: 1 }),
    'NOT_POSITIVE_DEFINITE',
    'positive definite',
  ],
  'no shift': [
    () => nystrom(square, { rank: 1, shift: 0, key: random.key(1) }),
    'INVALID_ARGUMENT',
    'shift is 0',
  ],
  'pivots that are not positive': [
    () => pivotedCholesky(square.scale(-1), { rank: 1, shift: 1 }),
    'INVALID_ARGUMENT',
    "the largest entry of the operator's diagonal is -2",
  ],
};

it.each(Object.entries(REFUSED))('%s is refused', async (_, [call, code, said]) => {
  await expect((async () => call())()).rejects.toMatchObject({
    code,
    message: expect.stringContaining(said) as string,
  });
});

it('pivotedCholesky takes fewer columns where the rest of the operator is 0', async () => {
  const low = denseOperator(await tensor([[4, 2], [2, 1]], where)); // prettier-ignore
  using one = await pivotedCholesky(low, { rank: 2, shift: 1 });
  // the inverse of [[5, 2], [2, 2]]
  const found = (await (await one.dense()).toNested<number[][]>()).flat();
  for (const [at, expected] of [2 / 6, -2 / 6, -2 / 6, 5 / 6].entries())
    expect(found[at]).toBeCloseTo(expected, 12);
});
