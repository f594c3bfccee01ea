import { devices, empty, planOf, tensor, zeros } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues, referenceCdist } from './cdist-reference.test-support.js';
import { describeCdist, expectDistances } from './cdist-suite.test-support.js';
import { cdist } from './index.js';
import { expectLevelMemory } from './memory-level.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('cdist on a GPU: no device');

for (const gpu of gpus) {
  describe(`cdist on ${gpu.id}`, () => {
    describeCdist(() => gpu, { full: true });

    it('numbers more than 2^31 outputs', { timeout: 120_000 }, async () => {
      const [m, n, k] = [50_000, 50_000, 3];
      const a = normalValues(m * k, 1);
      const b = normalValues(n * k, 2);
      const x = await tensor(a, { shape: [m, k], dtype: 'float32', device: gpu });
      const y = await tensor(b, { shape: [n, k], dtype: 'float32', device: gpu });
      const all = { rows: n, columns: k, values: b };
      for (const p of [1, 1.3, 2]) {
        using d = await cdist(x, y, { p });
        for (const row of [0, 21_474, 42_949, 42_950, m - 1]) {
          using part = d.slice([row, row + 1]);
          const values = a.slice(row * k, row * k + k);
          await expectDistances(part, { rows: 1, columns: k, values }, all, p);
        }
      }
    });

    it('has no limit on the number of rows of either input', { timeout: 120_000 }, async () => {
      const many = 65_535 * 128 + 1000;
      const points = Float64Array.from({ length: many }, (_, i) => (i % 4099) / 512 - 4);
      const line = await tensor(points, { shape: [many, 1], dtype: 'float32', device: gpu });
      const one = await tensor([[0.25]], { dtype: 'float32', device: gpu });
      using tall = await cdist(line, one, { p: 1 });
      using wide = await cdist(one, line, { p: 1 });
      const [down, across] = [await tall.toTypedArray(), await wide.toTypedArray()];
      for (const i of [0, 8_388_479, 8_388_480, many - 1]) {
        const want = Math.abs((points[i] ?? NaN) - 0.25);
        expect(down[i]).toBeCloseTo(want, 6);
        expect(across[i]).toBeCloseTo(want, 6);
      }
    });

    it('works on after it ran out of memory', async () => {
      const x = await zeros([1_000_000, 1], { dtype: 'float32', device: gpu });
      await expect(cdist(x, x)).rejects.toMatchObject({ code: 'OUT_OF_MEMORY' });
      const small = await cdist(x.slice([0, 4]), x.slice([0, 4]));
      expect([...(await small.toTypedArray())]).toEqual(new Array(16).fill(0));
    });

    it('keeps device memory level over 10,000 calls', { timeout: 120_000 }, async () => {
      const x = await zeros([64, 16], { dtype: 'float32', device: gpu });
      const call = await cdist.prepare(x, x, { p: 2 });
      await expectLevelMemory(gpu, 10_000, () => {
        call(x, x).dispose();
      });
    });

    it('orders work across streams', async () => {
      const [rows, k] = [3000, 64];
      const values = normalValues(rows * k, 5).map(Math.fround);
      const all = { rows, columns: k, values };
      const some = { rows: 4, columns: k, values: values.slice(0, 4 * k) };
      const distances = referenceCdist(some, all, 1.3);
      // of rows 0 and 1 to rows 2 and 3 of the distances: what the sums are, and the sums that roundings are relative to
      const pairs = [0, 1].flatMap((m) => [2, 3].map((n) => [m, n] as const));
      const [wanted, sizes] = ([-1, 1] as const).map((sign) =>
        pairs.map(([m, n]) => {
          let sum = 0;
          for (let at = 0; at < rows; at++) {
            const [x = NaN, y = NaN] = [distances[m * rows + at], distances[n * rows + at]];
            sum += Math.abs(x + sign * y);
          }
          return sum;
        }),
      );
      const first = gpu.createStream();
      const second = gpu.createStream();
      for (let i = 0; i < 20; i++) {
        // other numbers each time, in memory that was used before: what is too early shows
        const scale = 1 + i / 8;
        const scaled = values.map((value) => value * scale);
        using x = await tensor(scaled, { shape: [rows, k], dtype: 'float32', device: gpu });
        const out = empty([rows, rows], { dtype: 'float32', device: gpu, stream: first });
        await cdist(x, x, { p: 1.3, out, stream: first });
        using again = await cdist(out.slice([0, 2]), out.slice([2, 4]), { p: 1, stream: second });
        out.dispose();
        const found = (await again.toTypedArray()) as Float32Array;
        for (const [at, got] of found.entries()) {
          const want = scale * (wanted?.[at] ?? NaN);
          // 64 terms, of 12 u each, and sums of 3000
          const bound = scale * (sizes?.[at] ?? NaN) * (2 * Math.sqrt(rows) + 40) * 2 ** -24;
          expect(Math.abs(got - want)).toBeLessThan(bound);
          // the numbers before are off by more
          expect(bound).toBeLessThan(want / 50);
        }
      }
      first.dispose();
      second.dispose();
    });

    it('leaves the event loop free while long kernels run and new ones compile', async () => {
      const x = await zeros([30_000, 1024], { dtype: 'float32', device: gpu });
      const small = await zeros([64, 64], { dtype: 'float32', device: gpu });
      using warm = await cdist(x.slice([0, 64]), x, { p: 1.3 });
      await warm.ready();
      const gaps: number[] = [];
      let last = performance.now();
      const timer = setInterval(() => {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
      }, 10);
      using out = empty([30_000, 30_000], { dtype: 'float32', device: gpu });
      const started = performance.now();
      for (let i = 0; i < 5; i++) await cdist(x, x, { p: 1.3, out });
      // Norms that nothing else here uses: each is compiled and loaded while the device is busy.
      for (const p of [5.5, 6.5, 7.5]) (await cdist(small, small, { p })).dispose();
      await out.ready();
      clearInterval(timer);
      expect(performance.now() - started).toBeGreaterThan(300);
      gaps.sort((a, b) => a - b);
      const p99 = gaps[Math.floor(gaps.length * 0.99)] ?? Infinity;
      expect(gaps.length).toBeGreaterThan(20);
      expect(p99, `p99 of ${gaps.length} gaps`).toBeLessThan(50);
    });

    it('prints the plan of the large problem', async () => {
      const x = await zeros([30_000, 1024], { dtype: 'float32', device: gpu });
      using d = await cdist(x, x, { p: 2 });
      expect(planOf(d)?.summary).toMatch(/tile|products on tensor cores/);
    });
  });
}
