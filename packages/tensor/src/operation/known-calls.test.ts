import { expect, it } from 'vitest';
import { empty, type Tensor } from '../index.js';
import { layoutKey } from './known-calls.js';

const where = { device: 'cpu' } as const;
const keyOf = (inputs: readonly Tensor[], ...outs: readonly (Tensor | undefined)[]) =>
  layoutKey({ inputs, outs });

it('tells layouts apart, and tensors that are given twice', () => {
  const [a, like, wide] = [empty([2, 3], where), empty([2, 3], where), empty([2, 4], where)];
  const keys = [
    keyOf([a]),
    keyOf([a], undefined),
    keyOf([a], a),
    keyOf([a, a]),
    keyOf([a, like]),
    keyOf([a, wide]),
    keyOf([wide, a]),
    keyOf([a.transpose()]),
  ];
  expect(new Set(keys).size).toBe(keys.length - 1);
  // a result that is an input is that input once more
  expect(keys[2]).toBe(keys[3]);
  expect(keyOf([like, wide])).toBe(keyOf([a, wide]));
  a.dispose();
  expect(keyOf([a])).toBeUndefined();
  expect(keyOf([undefined as never])).toBeUndefined();
});

it('gives no number twice, however many lists there were', () => {
  const all = Array.from({ length: 300 }, (_, at) => empty([at + 1], where));
  const list = all.slice(0, 20);
  const first = keyOf(list) as number;
  const others = new Set<number | undefined>();
  for (let at = 0; at < 300; at++) others.add(keyOf([...all.slice(at), ...all.slice(0, at)]));
  expect(others.size).toBe(300);
  expect(others.has(first)).toBe(false);
  const again = keyOf(list) as number;
  // 90,000 beginnings of lists came in between
  expect(again).toBeGreaterThan(first);
  expect(keyOf(list)).toBe(again);
});
