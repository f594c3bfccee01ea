import { add, variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { empty, zeros } from './create.js';
import { device } from './devices.js';
import { map } from './map.js';
import { MercerError } from './mercer-error.js';
import { mapListsSuite } from './testing/map-lists-suite.test-support.js';

mapListsSuite('the CPU', () => device('cpu'));

const where = { device: 'cpu' } as const;
const [x, y] = [variable('x'), variable('y')];

describe('map of lists', () => {
  const a = empty([2, 3], where);
  const b = empty([2, 3], where);
  const whole = { p: x, q: add(x, 1) };

  test('of nothing gives nothing', async () => {
    expect(await map(whole, { x: [] })).toEqual({ p: [], q: [] });
    expect(await map(x, { x: [], y: a })).toEqual([]);
  });

  test.each([
    [
      'lists of two lengths',
      () => map(add(x, y), { x: [a, b], y: [a] }),
      /'y' is a list of 1 and input 'x' is a list of 2/,
    ],
    [
      'an out that is no list',
      () => map(x, { x: [a] }, { out: b as never }),
      /out is .* list of 1/,
    ],
    ['a short out', () => map(x, { x: [a, b] }, { out: [b] }), /out is a list of 1 .* list of 2/],
    [
      'an out by name that is no list',
      () => map(whole, { x: [a] }, { out: { q: b as never } }),
      /out\.q is/,
    ],
    [
      'an out of no result',
      () => map(whole, { x: [a] }, { out: { r: [b] } as never }),
      /map: out: .*'r'/,
    ],
    [
      'what is no tensor',
      () => map(x, { x: [a, 3 as never] }),
      /input 'x': expected a tensor, got 3/,
    ],
    [
      'a list of an out for one tensor',
      () => map(x, { x: a }, { out: [b] as never }),
      /out: expected a tensor/,
    ],
  ])('refuses %s', async (_, call, message) => {
    const error = await Promise.resolve(call()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MercerError);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });

  test('refuses shapes that do not broadcast, and writes nothing', async () => {
    using out = await zeros([2], where);
    using other = await zeros([5], where);
    using three = await zeros([3], where);
    const call = map(add(x, y), { x: [out, three], y: [out, other] }, { out: [out, three] });
    await expect(call).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
    expect(await out.toNested()).toEqual([0, 0]);
  });
});
