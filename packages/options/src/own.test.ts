import { expect, it } from 'vitest';
import { own } from './index.js';

it('gives the named own properties of an object that may have others, and no inherited one', () => {
  const saved = Object.assign(Object.create({ r: 3 }) as { q?: number; r?: number }, { q: 2 });
  const polluted = Object.prototype as { s?: number };
  polluted.s = 1;
  try {
    const given: { q?: number; r?: number; s?: number } = saved;
    expect(own(given, 'q', 'r', 's')).toEqual({ q: 2, r: undefined, s: undefined });
    expect(Object.keys(own(given, 's'))).toEqual(['s']);
  } finally {
    delete polluted.s;
  }
});

it.each([null, undefined, 7, 'text', Symbol('s')])('gives nothing of %s', (value) => {
  expect(own(value as unknown as { q?: number }, 'q')).toEqual({ q: undefined });
});
