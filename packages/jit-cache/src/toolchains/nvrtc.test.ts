import { expect, test } from 'vitest';
import { withoutOwnCache } from './nvrtc.js';

test('NVRTC is told not to store what the cache stores, where it knows the option', () => {
  expect(withoutOwnCache([13, 0])).toEqual(['--no-cache']);
  expect(withoutOwnCache([14, 2])).toEqual(['--no-cache']);
  expect(withoutOwnCache([12, 9])).toEqual([]);
});
