import { describe, expect, it } from 'vitest';
import { matrixLayout } from './matrix-layout.js';

describe('matrixLayout', () => {
  it.each([
    [[4, 3], [3, 1], { layout: 'row', leadingStride: 3 }],
    [[4, 3], [7, 1], { layout: 'row', leadingStride: 7 }],
    [[4, 3], [1, 4], { layout: 'column', leadingStride: 4 }],
    [[4, 3], [1, 9], { layout: 'column', leadingStride: 9 }],
    [[4, 3], [0, 1], { layout: 'row', leadingStride: 0 }],
    [[4, 3], [6, 2], undefined],
    [[4, 3], [-3, 1], undefined],
    [[4, 3], [3, -1], undefined],
    [[5, 1], [1, 1], { layout: 'column', leadingStride: 8 }],
    [[5, 1], [6, 1], { layout: 'row', leadingStride: 6 }],
    [[5, 1], [-6, 1], undefined],
    [[1, 5], [99, 1], { layout: 'row', leadingStride: 8 }],
    [[1, 5], [1, 3], { layout: 'column', leadingStride: 3 }],
    [[1, 5], [1, -3], undefined],
    [[1, 1], [-9, -9], { layout: 'row', leadingStride: 4 }],
  ] as const)('%j with strides %j', (shape, strides, expected) => {
    expect(matrixLayout(shape, strides)).toEqual(expected);
  });
});

describe('matrixLayout with a preference', () => {
  it.each([
    [[5, 1], [1, 1], 'row', { layout: 'row', leadingStride: 1 }],
    [[5, 1], [1, 1], 'column', { layout: 'column', leadingStride: 8 }],
    [[1, 5], [5, 1], 'column', { layout: 'column', leadingStride: 1 }],
    [[1, 1], [1, 1], 'column', { layout: 'column', leadingStride: 4 }],
    [[4, 3], [3, 1], 'column', { layout: 'row', leadingStride: 3 }],
    [[4, 3], [1, 4], 'row', { layout: 'column', leadingStride: 4 }],
  ] as const)('%j with strides %j as %s', (shape, strides, preferred, expected) => {
    expect(matrixLayout(shape, strides, preferred)).toEqual(expected);
  });
});
