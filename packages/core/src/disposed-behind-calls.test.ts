import { describe, expect, it } from 'vitest';
import {
  arange,
  cdist,
  cholesky,
  compress,
  concat,
  diag,
  eigh,
  gatherRows,
  isTensor,
  lazyI,
  lazyJ,
  matmul,
  solveLU,
  sort,
  stack,
  take,
  tensor,
  tile,
  topK,
  unique,
  zeros,
  type Tensor,
} from './index.js';

const CPU = { dtype: 'float64', device: 'cpu' } as const;
const INDICES = { dtype: 'int32', device: 'cpu' } as const;

type Call = (a: Tensor<'float64'>, b: Tensor<'float64'>, indices: Tensor<'int32'>) => unknown;

const CALLS: Readonly<Record<string, Call>> = {
  'a chain': (a, b) => a.mul(b).exp(),
  stack: (a, b) => stack([a, b]),
  concat: (a, b) => concat([a, b]),
  tile: (a) => tile(a, [2, 1]),
  diag: (a) => diag(a),
  sum: (a) => a.sum(0),
  std: (a) => a.std(),
  softmax: (a) => a.softmax(1),
  logSumExp: (a) => a.logSumExp(0),
  cumSum: (a) => a.cumSum(0),
  sort: (a) => sort(a, 0),
  topK: (a) => topK(a, 1),
  unique: (a) => unique(a),
  take: (a) => take(a, [1, 0], 0),
  gatherRows: (a, _, indices) => gatherRows(a, indices),
  compress: (a) => compress(a, a.gt(0)),
  'compress of a chain': (a) => compress(a.mul(2), a.gt(0)),
  clone: (a) => a.clone(),
  cast: (a) => a.cast('float32'),
  contiguous: (a) => a.transpose().contiguous(),
  matmul: (a, b) => matmul(a, b),
  cdist: (a, b) => cdist(a, b),
  'cdist of data of the host': (a) => cdist(a, [[1, 2]]),
  'a reduction': (a, b) => lazyI(a).sqdist(lazyJ(b)).neg().exp().matmul(b),
  cholesky: (a) => cholesky(a),
  eigh: (a) => eigh(a),
  solveLU: (a, b) => solveLU(a, b),
  'elements read': (a) => a.toTypedArray(),
};

/** All elements of what a call gives. */
async function elementsOf(given: unknown): Promise<unknown> {
  const made = await given;
  if (isTensor(made)) return made.toNested();
  if (ArrayBuffer.isView(made)) return made;
  const parts = Object.entries(made as Record<string, unknown>);
  return Promise.all(parts.map(async ([name, one]) => [name, await elementsOf(one)]));
}

const operands = async () =>
  [
    await tensor([[4, 1], [1, 3]], CPU), // prettier-ignore
    await tensor([[1, 0.5], [0, 2]], CPU), // prettier-ignore
    await arange(2, INDICES),
  ] as const;

/** So many calls that the next one waits for a turn of the event loop. */
async function callsBefore(): Promise<Promise<unknown>[]> {
  const other = await zeros([2], CPU);
  return Array.from({ length: 200 }, () => stack([other, other]));
}

describe('tensors may be disposed behind a call that reads them', () => {
  it.each(Object.entries(CALLS))('%s', async (_, call) => {
    const whole = await elementsOf(call(...(await operands())));
    const late = await operands();
    const before = await callsBefore();
    const result = call(...late);
    for (const one of late) one.dispose();
    expect(await elementsOf(result)).toEqual(whole);
    await Promise.all(before);
    for (const one of late) expect(one.disposed).toBe(true);
  });

  it('a tensor that was disposed before is refused all the same', async () => {
    const [a, b] = await operands();
    const before = await callsBefore();
    const other = a.view();
    a.dispose();
    const first = cdist(other, b);
    await expect(cdist(a, b)).rejects.toMatchObject({ code: 'DISPOSED' });
    await expect((async () => stack([a, other]))()).rejects.toMatchObject({ code: 'DISPOSED' });
    await Promise.all([first, ...before]);
  });
});
