import { describe, expect, it } from 'vitest';
import { undisposed } from '../../tensor/test/memory-kept.mjs';
import {
  arange,
  cdist,
  cholesky,
  compress,
  concat,
  diag,
  eigh,
  einsum,
  gatherRows,
  index,
  isTensor,
  lazyI,
  lazyJ,
  matmul,
  memory,
  scatterAdd,
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

/** Calls that wait for operands. */
const OF_PENDING: Readonly<Record<string, Call>> = {
  matmul: (a, b) => matmul(a, b),
  'a method': (a, b) => a.matmul(b),
  stack: (a, b) => stack([a, b]),
  cdist: (a, b) => cdist(a, b),
  einsum: (a, b) => einsum('ij,jk->ik', [a, b]),
  index: (a, _, indices) => index(a, [indices]),
  gatherRows: (a, _, indices) => gatherRows(a, indices),
  scatterAdd: (a, _, indices) => scatterAdd(a, indices, 2),
  solveLU: (a, b) => solveLU(a, b),
};

/** The same elements, not there yet. */
const pendingOf = ([a, b, indices]: Operands): Operands =>
  [matmul(a, b), b.mul(2), indices.add(0)] as unknown as Operands;

/** The tensors of what a call gives. */
async function tensorsOf(given: unknown): Promise<readonly Tensor[]> {
  const made = await given;
  if (isTensor(made)) return [made];
  return ArrayBuffer.isView(made) ? [] : Object.values(made as object).filter(isTensor);
}

/** All elements of what a call gives. */
async function elementsOf(given: unknown): Promise<unknown> {
  const made = await given;
  if (isTensor(made)) return made.toNested();
  if (ArrayBuffer.isView(made)) return made;
  const parts = Object.entries(made as Record<string, unknown>);
  return Promise.all(parts.map(async ([name, one]) => [name, await elementsOf(one)]));
}

type Operands = Parameters<Call>;

const operands = async (): Promise<Operands> => [
  await tensor([[4, 1], [1, 3]], CPU), // prettier-ignore
  await tensor([[1, 0.5], [0, 2]], CPU), // prettier-ignore
  await arange(2, INDICES),
];

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

  it.each(Object.entries(OF_PENDING))('pending ones, of %s', async (_, call) => {
    const whole = await elementsOf(call(...pendingOf(await operands())));
    const late = await operands();
    const before = await callsBefore();
    const given = pendingOf(late);
    const result = call(...given);
    for (const one of [...given, ...late]) one.dispose();
    expect(await elementsOf(result)).toEqual(whole);
    await Promise.all(before);
  });

  it('keeps no memory', async () => {
    const before = undisposed(memory());
    for (const [calls, from] of [
      [CALLS, (all: Operands) => all],
      [OF_PENDING, pendingOf],
    ] as const) {
      for (const [name, call] of Object.entries(calls)) {
        // they make operands of their own, which wait for a collection
        if (/compress|contiguous/.test(name)) continue;
        const late = await operands();
        const given = from(late);
        for (const one of await tensorsOf(call(...given))) one.dispose();
        for (const one of [...given, ...late]) one.dispose();
      }
    }
    await Promise.resolve();
    expect(undisposed(memory())).toEqual(before);
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

  it('also beside another handle that is read', async () => {
    const [a, b] = await operands();
    const other = a.view();
    a.dispose();
    const call = stack([matmul(b, b), a, other]) as Promise<unknown>;
    await expect(call).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  it('what a call writes must live until it resolves', async () => {
    const [a, b] = await operands();
    const out = await zeros([2, 2], CPU);
    const before = await callsBefore();
    const result = matmul(a, b, { out });
    out.dispose();
    await expect(result).rejects.toMatchObject({ code: 'DISPOSED' });
    const inPlace = cholesky(a, { overwriteA: true }) as Promise<unknown>;
    a.dispose();
    await expect(inPlace).rejects.toMatchObject({ code: 'DISPOSED' });
    await Promise.all(before);
  });
});

describe('a call with an argument that is pending has its place when it is made', () => {
  it.each(Object.entries(OF_PENDING))('%s reads what was there', async (_, call) => {
    const [c, d, others] = await operands();
    const expected = await elementsOf(call(await matmul(c, d), d, others));
    const [a, b, indices] = await operands();
    const before = await callsBefore();
    const result = call(matmul(a, b) as unknown as typeof a, b, indices);
    const written = b.fill(9);
    expect(await elementsOf(result)).toEqual(expected);
    await Promise.all([written, ...before]);
  });

  it('and others read what it wrote', async () => {
    const [a, b] = await operands();
    const out = await zeros([2, 2], CPU);
    const result = matmul(matmul(a, b), b, { out });
    const read = await out.toNested();
    expect(read).toEqual(await (await result).toNested());
    expect(read).not.toEqual([[0, 0], [0, 0]]); // prettier-ignore
  });
});
