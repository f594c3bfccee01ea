import { devices, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ } from './index.js';

const gpus = devices().filter((found) => found.kind === 'cuda');
const MOST_BYTES = 100e6;

if (gpus.length === 0) it.skip('memory of a reduction on a GPU: no device');

for (const gpu of gpus) {
  describe(`memory of a reduction on ${gpu.id}`, () => {
    it('is less than 100 MB beyond the inputs for a million rows on each side', async () => {
      const rows = 1_000_000;
      const points = (seed: number): Float32Array =>
        Float32Array.from({ length: rows * 3 }, (_, n) => Math.sin(seed + n * 0.618));
      const x = await tensor(points(1), { shape: [rows, 3], device: gpu });
      const y = await tensor(points(2), { shape: [rows, 3], device: gpu });
      const b = await tensor(new Float32Array(rows).fill(1), { shape: [rows, 1], device: gpu });
      const gaussian = lazyI(x).sqdist(lazyJ(y)).neg().exp();
      const before = gpu.memory().freeBytes;
      let least = before;
      let looks = 0;
      const state = { isDone: false };
      const compute = async (): Promise<Tensor<'float32'>> => {
        const sums = await gaussian.matmul(b);
        await gpu.synchronize();
        return sums;
      };
      const sums = compute().finally(() => {
        state.isDone = true;
      });
      while (!state.isDone) {
        least = Math.min(least, gpu.memory().freeBytes);
        looks += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const result = await sums;
      expect(looks).toBeGreaterThan(10);
      expect(before - least).toBeLessThan(MOST_BYTES);
      const [all, xs, ys] = [await result.toTypedArray(), points(1), points(2)];
      for (const row of [0, 1, 65_535, 524_288, rows - 1]) {
        let sum = 0;
        for (let j = 0; j < rows; j++) {
          let distance = 0;
          for (let c = 0; c < 3; c++) distance += (xs[3 * row + c]! - ys[3 * j + c]!) ** 2;
          sum += Math.exp(-distance);
        }
        // a term: a distance of at most 12 with 4 roundings, and an exponential of a few
        const bound = (2 * Math.sqrt(rows) + 12 * 4 + 8) * 2 ** -24 * sum;
        expect(Math.abs((all[row] ?? NaN) - sum)).toBeLessThan(bound);
      }
    });
  });
}
