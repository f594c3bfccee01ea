import { random, tensor, type Tensor } from '@mercer/tensor';
import { beforeAll, expect, it } from 'vitest';
import {
  denseOperator,
  eigsh,
  lanczos,
  lobpcg,
  logdet,
  trace,
  type LinearOperator,
} from '../index.js';

const where = { device: 'cpu', dtype: 'float64' } as const;
const key = random.key(1);
let square: LinearOperator<'float64'>;
let wide: LinearOperator<'float64'>;
let vector: Tensor<'float64'>;
let columns: Tensor<'float64'>;

beforeAll(async () => {
  square = denseOperator(await tensor([[2, 0, 0], [0, 3, 0], [0, 0, 4]], where)); // prettier-ignore
  wide = denseOperator(await tensor([[1, 2, 3], [4, 5, 6]], where)); // prettier-ignore
  vector = await tensor([1, 2, 3], where);
  columns = vector.reshape([3, 1]);
});

/** Calls with the code and a part of the message that they are refused with. */
const REFUSED: Readonly<Record<string, readonly [() => unknown, code: string, said: string]>> = {
  'lanczos of no operator': [() => lanczos(1 as never, { key, steps: 1 }), 'INVALID_ARGUMENT', 'lanczos: the operator is 1'], // prettier-ignore
  'lanczos of a rectangle': [
    () => lanczos(wide, { key, steps: 1 }),
    'SHAPE_MISMATCH',
    'It must be square',
  ],
  'lanczos beyond the rows': [
    () => lanczos(square, { key, steps: 4 }),
    'INVALID_ARGUMENT',
    'steps is 4. Pass a whole number from 1 to 3',
  ],
  'lanczos of half a step': [
    () => lanczos(square, { key, steps: 0.5 }),
    'INVALID_ARGUMENT',
    'steps is 0.5',
  ],
  'lanczos from nowhere': [
    () => lanczos(square, { steps: 1 }),
    'INVALID_ARGUMENT',
    'neither start nor key is given',
  ],
  'lanczos from two places': [
    () => lanczos(square, { steps: 1, key, start: vector }),
    'INVALID_ARGUMENT',
    'both start and key are given',
  ],
  'lanczos from 0': [
    async () => lanczos(square, { steps: 1, start: await vector.mul(0) }),
    'INVALID_ARGUMENT',
    'start is 0',
  ],
  'lanczos from NaN': [
    async () => lanczos(square, { steps: 1, start: await vector.mul(NaN) }),
    'NOT_FINITE',
    'holds NaN',
  ],
  'lanczos from columns': [
    () => lanczos(square, { steps: 1, start: columns }),
    'SHAPE_MISMATCH',
    'lanczos: start',
  ],
  'lanczos from another dtype': [
    async () => lanczos(square, { steps: 1, start: (await vector.cast('float32')) as never }),
    'DTYPE_MISMATCH',
    'lanczos: start',
  ],
  'a key that is a number': [
    () => lanczos(square, { steps: 1, key: 1 as never }),
    'INVALID_ARGUMENT',
    'key is 1. Pass random.key(seed)',
  ],
  'eigsh of a rectangle': [() => eigsh(wide, { k: 1, key }), 'SHAPE_MISMATCH', 'It must be square'],
  'more pairs than rows': [
    () => eigsh(square, { k: 4, key }),
    'INVALID_ARGUMENT',
    'k is 4. Pass a whole number from 1 to 3, the number of rows',
  ],
  'no pairs': [() => eigsh(square, { k: 0, key }), 'INVALID_ARGUMENT', 'k is 0'],
  'eigsh without a key': [
    () => eigsh(square, { k: 1 } as never),
    'INVALID_ARGUMENT',
    'key is undefined',
  ],
  'another end of the spectrum': [
    () => eigsh(square, { k: 1, key, which: 'LM' as never }),
    'INVALID_ARGUMENT',
    "which is \"LM\". Pass 'largest' or 'smallest' or 'magnitude'",
  ],
  'a negative rtol': [
    () => eigsh(square, { k: 1, key, rtol: -1 }),
    'INVALID_ARGUMENT',
    'rtol is -1',
  ],
  'no iterations': [
    () => eigsh(square, { k: 1, key, maxIterations: 0 }),
    'INVALID_ARGUMENT',
    'maxIterations is 0',
  ],
  'an empty block': [
    () => eigsh(square, { k: 1, key, blockSize: 0 }),
    'INVALID_ARGUMENT',
    'blockSize is 0',
  ],
  'progress to no function': [
    () => eigsh(square, { k: 1, key, onIteration: 1 as never }),
    'INVALID_ARGUMENT',
    'onIteration is 1',
  ],
  'lobpcg of a rectangle': [() => lobpcg(wide, columns), 'SHAPE_MISMATCH', 'It must be square'],
  'lobpcg from a vector': [
    () => lobpcg(square, vector),
    'SHAPE_MISMATCH',
    'x0 has shape [3], and the operator [3, 3]. Pass (3, k)',
  ],
  'lobpcg from more columns than rows': [
    async () =>
      lobpcg(
        square,
        await tensor(
          [
            [1, 2, 3, 4],
            [1, 2, 3, 5],
            [1, 2, 3, 6],
          ],
          where,
        ),
      ),
    'SHAPE_MISMATCH',
    'with k from 1 to 3',
  ],
  'lobpcg by magnitude': [
    () => lobpcg(square, columns, { which: 'magnitude' as never }),
    'INVALID_ARGUMENT',
    "which is \"magnitude\". Pass 'largest' or 'smallest'",
  ],
  'lobpcg with a preconditioner of another shape': [
    () => lobpcg(square, columns, { preconditioner: wide }),
    'SHAPE_MISMATCH',
    'the preconditioner is',
  ],
  'logdet of a rectangle': [() => logdet(wide, { key }), 'SHAPE_MISMATCH', 'It must be square'],
  'logdet of a number': [() => logdet(1 as never, { key } as never), 'INVALID_ARGUMENT', 'logdet'],
  'logdet without a key': [
    () => logdet(square, {} as never),
    'INVALID_ARGUMENT',
    'key is undefined',
  ],
  'one probe, which has no error': [
    () => logdet(square, { key, probes: 1 }),
    'INVALID_ARGUMENT',
    'probes is 1. Pass a whole number of 2 at least',
  ],
  'logdet beyond the rows': [
    () => logdet(square, { key, steps: 4 }),
    'INVALID_ARGUMENT',
    'steps is 4',
  ],
  'a preconditioner of no known determinant': [
    () => logdet(square, { key, preconditioner: square }),
    'INVALID_ARGUMENT',
    'whose determinant is not known. Pass what pivotedCholesky, nystrom or jacobi gave',
  ],
  'logdet with an option of matrices': [
    () => logdet(square, { key, method: 'lu' } as never),
    'INVALID_ARGUMENT',
    'method',
  ],
  'trace of a rectangle': [() => trace(wide, { key }), 'SHAPE_MISMATCH', 'It must be square'],
  'trace by another method': [
    () => trace(square, { key, method: 'exact' as never }),
    'INVALID_ARGUMENT',
    'method is "exact"',
  ],
  'hutch++ of two products': [
    () => trace(square, { key, probes: 5 }),
    'INVALID_ARGUMENT',
    'probes is 5',
  ],
};

it.each(Object.entries(REFUSED))('%s is refused', async (_, [call, code, said]) => {
  await expect((async () => call())()).rejects.toMatchObject({
    code,
    message: expect.stringContaining(said) as string,
  });
});
