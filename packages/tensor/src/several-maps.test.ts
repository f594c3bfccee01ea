import { add, variable, type Expr } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { empty } from './create.js';
import { device } from './devices.js';
import { map } from './map.js';
import { MercerError } from './mercer-error.js';
import { severalMapsSuite } from './testing/several-maps-suite.test-support.js';

severalMapsSuite('the CPU', () => device('cpu'));

const where = { device: 'cpu' } as const;
const x = variable('x');

describe('map of several formulas refuses', () => {
  const a = empty([2, 3], where);
  const b = empty([2, 3], where);
  const whole = { p: x, q: add(x, 1) };

  test.each([
    ['no formulas', () => map({}, { x: a }), 'INVALID_ARGUMENT', /there is no formula/],
    [
      'a formula that is none',
      () => map({ p: x, q: 3 as unknown as Expr }, { x: a }),
      'INVALID_ARGUMENT',
      /formula of 'q' is 3/,
    ],
    [
      'an out of no result',
      () => map(whole, { x: a }, { out: { r: b } as never }),
      'INVALID_ARGUMENT',
      /map: out: .*'r'/,
    ],
    [
      'one tensor for all results',
      () => map(whole, { x: a }, { out: b as never }),
      'INVALID_ARGUMENT',
      /Pass an object with a tensor for 'p' or 'q'/,
    ],
    [
      'an out that is no tensor',
      () => map(whole, { x: a }, { out: { q: 3 as never } }),
      'INVALID_ARGUMENT',
      /out\.q: expected a tensor, got 3/,
    ],
    [
      'a dtype of no result',
      () => map(whole, { x: a }, { dtype: { r: 'int32' } as never }),
      'INVALID_ARGUMENT',
      /map: dtype: .*'r'/,
    ],
    [
      'one memory for two results',
      () => map(whole, { x: a }, { out: { p: b, q: b.view() } }),
      'OVERLAP',
      /shares memory with the output/,
    ],
    ['one tensor twice', () => map(whole, { x: a }, { out: { p: b, q: b } }), 'OVERLAP', /output/],
    [
      'outs of two shapes',
      () => map(whole, { x: a }, { out: { p: b, q: empty([2, 2, 3], where) } }),
      'SHAPE_MISMATCH',
      /\[2, 2, 3\]/,
    ],
    [
      '16384 results',
      () =>
        map(Object.fromEntries(Array.from({ length: 2 ** 14 }, (_, i) => [`r${i}`, x])), { x: a }),
      'LIMIT',
      /there are 1 inputs and 16384 results, at most 16384 together/,
    ],
  ])('%s', async (_, call, code, message) => {
    const error: unknown = await call().then(
      () => undefined,
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(MercerError);
    expect((error as MercerError).code).toBe(code);
    expect((error as MercerError).message).toMatch(message);
  });
});
