import { describe, expect, it } from 'vitest';
import { collapseBatchStride } from './batch-stride.js';

describe('collapseBatchStride', () => {
  it.each([
    [[], [], 0],
    [[1, 1], [5, 7], 0],
    [[3], [20], 20],
    [[3], [0], 0],
    [[2, 3], [60, 20], 20],
    [[2, 1, 3], [60, 999, 20], 20],
    [[2, 3], [0, 0], 0],
    [[2, 3], [0, 20], undefined],
    [[2, 3], [20, 0], undefined],
    [[2, 3], [70, 20], undefined],
  ])('batch %j with strides %j', (shape, strides, expected) => {
    expect(collapseBatchStride(shape, strides)).toBe(expected);
  });
});
