import { describe, expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emitExchangeRows } from './exchange-rows.js';

describe.each([
  ['float32', Float32Array],
  ['float64', Float64Array],
] as const)('rows of %s matrices', (dtype, Floats) => {
  test.each([1, 5, 33, 64, 100])('of %i rows are exchanged in turn', (n) => {
    const [columns, count] = [3, 2];
    const number = (i: number): number => (i * 7919 + 13) % 101;
    const sides = new Floats(n * columns * count).map((_, i) => number(i));
    const pivots = Int32Array.from({ length: n * count }, (_, i) => {
      const row = i % n;
      return row + 1 + (number(i) % (n - row));
    });
    const wanted = [...sides];
    for (let z = 0; z < count; z++) {
      for (let row = 0; row < n; row++) {
        for (let column = 0; column < columns; column++) {
          const start = (z * columns + column) * n;
          const [from, to] = [start + row, start + pivots[z * n + row]! - 1];
          [wanted[from], wanted[to]] = [wanted[to]!, wanted[from]!];
        }
      }
    }
    const kernel = emitExchangeRows(dtype);
    expect(kernel.params.slice(0, 2).map(({ name }) => name)).toEqual(['sides', 'pivots']);
    runCudaKernel(kernel, { scalars: { n, columns, count }, pointers: [sides, pivots] });
    expect([...sides]).toEqual(wanted);
  });
});
