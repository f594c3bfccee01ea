import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../../emitted-kernel.js';
import { runCudaKernel } from '../../testing/cuda-emulator.test-support.js';
import { triangleFunctions, triangleTiles, type Triangle } from './triangle.js';

const SHAPES: readonly Triangle[] = [
  { tileRows: 128, tileColumns: 128, groupRows: 16 },
  { tileRows: 128, tileColumns: 32, groupRows: 16 },
  { tileRows: 32, tileColumns: 128, groupRows: 16 },
  { tileRows: 64, tileColumns: 32, groupRows: 3 },
  { tileRows: 16, tileColumns: 32, groupRows: 4 },
  { tileRows: 1, tileColumns: 4, groupRows: 1 },
  { tileRows: 4, tileColumns: 1, groupRows: 1 },
  { tileRows: 2, tileColumns: 2, groupRows: 1 },
];

/** A kernel that writes the place of each tile whose number it is given. */
function listKernel(triangle: Triangle): CudaKernel {
  const pointer = (name: string, access: 'read' | 'write') =>
    ({ name, kind: 'pointer', dtype: 'int64', access }) as const;
  return {
    dialect: 'cuda',
    name: 'list of tiles',
    entry: 'list_tiles',
    source: `${triangleFunctions(triangle)}
extern "C" __global__ void list_tiles(const long long* __restrict__ numbers, long long* __restrict__ places, long long tiles, long long count) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= tiles) return;
  const Tile tile = tile_at(numbers[i], (count + ${triangle.tileRows - 1}) / ${triangle.tileRows});
  places[3 * i] = tile.row;
  places[3 * i + 1] = tile.column;
  places[3 * i + 2] = tiles_of(count);
}`,
    params: [
      pointer('numbers', 'read'),
      pointer('places', 'write'),
      { name: 'tiles', kind: 'scalar', type: 'int64' },
      { name: 'count', kind: 'scalar', type: 'int64' },
    ],
    options: [],
    geometry: ({ tiles = 0 }) => ({
      grid: [Math.ceil(tiles / 128), 1, 1],
      block: [128, 1, 1],
      sharedMemBytes: 0,
    }),
  };
}

function places(triangle: Triangle, count: number, numbers: readonly number[]): number[][] {
  const out = new BigInt64Array(3 * numbers.length);
  runCudaKernel(listKernel(triangle), {
    scalars: { tiles: numbers.length, count },
    pointers: [BigInt64Array.from(numbers.map(BigInt)), out],
  });
  return numbers.map((_, i) => Array.from(out.subarray(3 * i, 3 * i + 3), Number));
}

describe.each(SHAPES)('tiles of $tileRows x $tileColumns, $together rows together', (triangle) => {
  const { tileRows, tileColumns } = triangle;
  test.each([1, tileColumns * 21 - 1, tileRows * 35])(
    'are each met once among %i rows',
    (count) => {
      const wanted: string[] = [];
      for (let i = 0; i * tileRows < count; i += 1) {
        for (let j = 0; j * tileColumns < Math.min(count, (i + 1) * tileRows); j += 1) {
          wanted.push(`${i} ${j}`);
        }
      }
      const total = triangleTiles(count, triangle);
      expect(total).toBe(wanted.length);
      const numbers = Array.from({ length: total }, (_, i) => i);
      const found = places(triangle, count, numbers);
      expect(found.map(([row, column]) => `${row} ${column}`).sort()).toEqual(wanted.sort());
      expect(found.every(([, , counted]) => counted === total)).toBe(true);
    },
  );

  test('are found beyond 2^32 of them', () => {
    const count = 2 ** 22 * Math.max(tileRows, tileColumns) + 5;
    const total = triangleTiles(count, triangle);
    expect(total).toBeGreaterThan(2 ** 32);
    const numbers = [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 12345, total - 2, total - 1];
    const found = places(triangle, count, numbers);
    expect(new Set(found.map(String)).size).toBe(numbers.length);
    for (const [row = 0, column = 0, counted] of found) {
      expect(column * tileColumns).toBeLessThan(Math.min(count, (row + 1) * tileRows));
      expect(row * tileRows).toBeLessThan(count);
      expect(counted).toBe(total);
    }
    expect(found.at(-1)?.[0]).toBe(Math.floor((count - 1) / tileRows));
  });
});
