import { describe, expect, test } from 'vitest';
import { countRows } from './count-rows.js';
import { empty, tensor } from './create.js';
import { device } from './devices.js';
import { gatherRows } from './gather-rows.js';
import { MercerError } from './mercer-error.js';
import { scatterAdd } from './scatter-add.js';
import { rowsByIndexSuite } from './testing/rows-by-index-suite.test-support.js';

rowsByIndexSuite('the CPU', () => device('cpu'), {
  rows: [1, 7, 1000, 100_000],
  counts: [0, 1, 31, 20_000],
  columns: [1, 3, 10, 128],
  mostElements: 1_000_000,
});

const where = { device: 'cpu' } as const;
const values = empty([3, 2], where);
const index = await tensor(Int32Array.of(0, 1, 0), where);

async function refusal(call: Promise<unknown>): Promise<[code: string, text: string]> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof MercerError))
    throw new Error('the call was not refused', { cause: error });
  return [error.code, error.message];
}

describe('what rows by index refuse', () => {
  test('dtypes', async () => {
    const whole = empty([3, 2], { dtype: 'int32', ...where });
    const single = empty([3], where);
    for (const [call, part] of [
      [scatterAdd(whole as never, index, 2), /values are int32 .* cast\('float32'\)/],
      [scatterAdd(values, single as never, 2), /index is float32 .*cast\('int32'\)/],
      [scatterAdd(values, index, 2, { dtype: 'int32' as never }), /cannot be int32/],
      [scatterAdd(values, index, 2, { out: whole as never }), /cannot be int32/],
      [
        scatterAdd(values, index, 2, {
          out: empty([2, 2], { dtype: 'float64', ...where }),
          dtype: 'float32' as never,
        }),
        /out is float64 .*result is float32/,
      ],
      [countRows(single as never, 2), /index is float32/],
      [countRows(index, 2, { dtype: 'float32' as never }), /cannot be float32.*cast the result/],
      [gatherRows(values, single as never), /index is float32/],
    ] as const) {
      const [code, text] = await refusal(call);
      expect(code).toBe('DTYPE_MISMATCH');
      expect(text).toMatch(part);
    }
  });

  test('shapes', async () => {
    const square = empty([3, 1], { dtype: 'int32', ...where });
    const scalar = empty([], where);
    for (const [call, part] of [
      [scatterAdd(values, index.slice([0, 2]), 2), /\[3, 2\] and index has \[2\]/],
      [scatterAdd(values, square, 2), /one axis. Call reshape\(\[-1\]\)/],
      [scatterAdd(scalar, index, 2), /no axis of rows/],
      [scatterAdd(values, index, 2, { out: empty([3, 2], where) }), /result has shape \[2, 2\]/],
      [countRows(square, 2), /one axis/],
      [countRows(index, 2, { out: empty([3], { dtype: 'int32', ...where }) }), /shape \[2\]/],
      [gatherRows(scalar, index), /no axis of rows/],
      [gatherRows(values, index, { out: empty([2, 2], where) }), /result has shape \[3, 2\]/],
    ] as const) {
      const [code, text] = await refusal(call);
      expect(code).toBe('SHAPE_MISMATCH');
      expect(text).toMatch(part);
    }
  });

  test('numbers of rows, things that are no tensors, tensors that are gone', async () => {
    for (const rows of [-1, 1.5, NaN, 2 ** 31, '3' as never]) {
      for (const call of [scatterAdd(values, index, rows), countRows(index, rows)]) {
        const [code, text] = await refusal(call);
        expect([code, text]).toEqual([
          'INVALID_ARGUMENT',
          expect.stringMatching(/is no number of rows. Pass an integer from 0 to 2147483647/),
        ]);
      }
    }
    const gone = empty([3], { dtype: 'int32', ...where });
    gone.dispose();
    expect((await refusal(scatterAdd(values, gone, 2)))[0]).toBe('DISPOSED');
    expect((await refusal(countRows(gone, 2)))[0]).toBe('DISPOSED');
    expect((await refusal(gatherRows([1] as never, index)))[0]).toBe('INVALID_ARGUMENT');
    expect((await refusal(scatterAdd(values, [0, 1, 0] as never, 2)))[0]).toBe('INVALID_ARGUMENT');
  });

  test('outputs that are inputs', async () => {
    const square = empty([3, 2], where);
    expect((await refusal(scatterAdd(square, index, 3, { out: square })))[0]).toBe('OVERLAP');
    expect((await refusal(gatherRows(square, index, { out: square })))[0]).toBe('OVERLAP');
    expect((await refusal(countRows(index, 3, { out: index })))[0]).toBe('OVERLAP');
  });
});

test('streams are waited for in order', async () => {
  const stream = device('cpu').createStream();
  const ones = empty([50_000, 4], where);
  await ones.fill(1, { stream });
  const labels = await tensor(new Int32Array(50_000), where);
  const sum = await scatterAdd(ones, labels, 2);
  expect(await sum.toNested()).toEqual([
    [50_000, 50_000, 50_000, 50_000],
    [0, 0, 0, 0],
  ]);
  for (const t of [ones, labels, sum]) t.dispose();
  stream.dispose();
});
