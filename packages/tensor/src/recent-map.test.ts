import { expect, test } from 'vitest';
import { RecentMap } from './recent-map.js';

test('a map of recent entries keeps half of its limit at least and all of it at most', () => {
  const recent = new RecentMap<number, number>(() => 8);
  for (let n = 0; n < 100; n++) {
    recent.set(n, n * n);
    expect(recent.size).toBeLessThanOrEqual(8);
    for (let back = 0; back < Math.min(4, n + 1); back++) {
      expect(recent.get(n - back)).toBe((n - back) ** 2);
    }
  }
  expect(recent.get(0)).toBeUndefined();
});

test('what is used again and again stays', () => {
  const recent = new RecentMap<string, number>(() => 6);
  recent.set('held', 1);
  for (let n = 0; n < 50; n++) {
    recent.set(`other ${n}`, n);
    expect(recent.get('held')).toBe(1);
  }
});

test('heavy entries take the room of many, and one that is heavier than all still has room', () => {
  const recent = new RecentMap<string, number>(() => 10);
  for (const name of ['a', 'b', 'c', 'd']) recent.set(name, 1);
  recent.set('heavy', 2, 100);
  expect(recent.get('heavy')).toBe(2);
  recent.set('x', 3, 100);
  recent.set('y', 4, 100);
  expect(recent.get('y')).toBe(4);
  expect(recent.get('a')).toBeUndefined();
  expect(recent.size).toBeLessThanOrEqual(2);
});

test('setting an entry again counts its weight once', () => {
  const recent = new RecentMap<string, number>(() => 10);
  recent.set('other', 0);
  for (let n = 0; n < 100; n++) recent.set('same', n);
  expect(recent.get('other')).toBe(0);
  recent.delete('same');
  expect(recent.get('same')).toBeUndefined();
  expect(recent.size).toBe(1);
});

test('a limit that shrinks holds from the next entry on', () => {
  let limit = 100;
  const recent = new RecentMap<number, number>(() => limit);
  for (let n = 0; n < 40; n++) recent.set(n, n);
  limit = 4;
  for (let n = 40; n < 46; n++) recent.set(n, n);
  expect(recent.size).toBeLessThanOrEqual(4);
});
