import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ } from './index.js';
import { upload, wholeNumbers } from './reference.test-support.js';

/** Bins by comparing with every edge; -1 outside. */
function binOf(x: number, low: number, width: number, bins: number): number {
  if (x === low + bins * width) return bins - 1;
  return Array.from({ length: bins }, (_, k) => k).findIndex(
    (k) => x >= low + k * width && x < low + (k + 1) * width,
  );
}

/** Histograms against loops. */
export function describeHistograms(device: () => Device): void {
  describe('histogram', () => {
    it.each([
      ['j', 'float32', []],
      ['i', 'float64', [2]],
    ] as const)('counts over %s in %s, batch %j', async (axis, dtype, batch) => {
      const [M, N, bins, low, width] = [11, 40, 5, -3, 1.5];
      const [x, y] = [wholeNumbers(5, M, 1, batch), wholeNumbers(6, N, 1)];
      const [a, b] = [
        lazyI(await upload(x, dtype, device())),
        lazyJ(await upload(y, dtype, device())),
      ];
      const options = { bins, range: [low, low + bins * width] } as const;
      const counts = await a.sub(b).histogram(axis, options);
      const sums = await a.sub(b).histogram(axis, { ...options, weight: b });
      const [kept, reduced] = axis === 'j' ? [M, N] : [N, M];
      const layers = x.values.length / M;
      const wanted = [counts, sums].map(() => new Float64Array(layers * kept * bins));
      let outside = 0;
      for (let z = 0; z < layers; z++) {
        for (let own = 0; own < kept; own++) {
          for (let other = 0; other < reduced; other++) {
            const [i, j] = axis === 'j' ? [own, other] : [other, own];
            const [left, right] = [x.values[z * M + i] ?? NaN, y.values[j] ?? NaN];
            const bin = binOf(left - right, low, width, bins);
            if (bin < 0) outside++;
            if (bin < 0) continue;
            const place = (z * kept + own) * bins + bin;
            wanted.forEach((into, at) => {
              into[place] = (into[place] ?? 0) + (at === 0 ? 1 : right);
            });
          }
        }
      }
      expect(outside).toBeGreaterThan(0);
      expect(counts.shape).toEqual([...batch, kept, bins]);
      for (const [at, got] of [counts, sums].entries()) {
        expect(Array.from(await got.toTypedArray())).toEqual(Array.from(wanted[at] ?? []));
      }
    });

    it.each([
      ['many rows', 300, 211, 2],
      // a part is rounded before it is added to the others
      ['one row, whose parts are merged', 1, 20_000, 4],
    ])('has as many bins as are wanted, %s', async (_, M, N, roundings) => {
      const bins = 1000;
      const values = (count: number, factor: number): Float64Array =>
        Float64Array.from({ length: count }, (_, k) => ((k * factor) % 701) - 20);
      const [x, y] = [values(M, 131), values(N, 257)];
      const weights = Float64Array.from({ length: N }, (_, k) => ((k * 37) % 1009) / 1009 - 0.25);
      const column = (data: Float64Array): Promise<Tensor<'float32'>> =>
        tensor(data, { shape: [data.length, 1], dtype: 'float32', device: device() });
      const [a, b, w] = [await column(x), await column(y), await column(weights)];
      const matrix = lazyI(a).add(lazyJ(b));
      const options = { bins, range: [0, bins] } as const;
      const counts = await matrix.histogram('j', options);
      const sums = await matrix.histogram('j', { ...options, weight: lazyJ(w) });
      const wanted = { counts: new Float64Array(M * bins), sums: new Float64Array(M * bins) };
      const sizes = new Float64Array(M * bins);
      const rounded = Float32Array.from(weights);
      for (let i = 0; i < M; i++) {
        for (let j = 0; j < N; j++) {
          const value = (x[i] ?? NaN) + (y[j] ?? NaN);
          if (value < 0 || value > bins) continue;
          const place = i * bins + Math.min(value, bins - 1);
          wanted.counts[place] = (wanted.counts[place] ?? 0) + 1;
          wanted.sums[place] = (wanted.sums[place] ?? 0) + (rounded[j] ?? NaN);
          sizes[place] = (sizes[place] ?? 0) + Math.abs(rounded[j] ?? NaN);
        }
      }
      expect(Array.from(await counts.toTypedArray())).toEqual(Array.from(wanted.counts));
      const found = Array.from(await sums.toTypedArray());
      const off = found.map(
        (got, at) => Math.abs(got - (wanted.sums[at] ?? NaN)) / Math.max(sizes[at] ?? 0, 1e-30),
      );
      expect(off.filter((one) => !(one < roundings * 2 ** -24))).toEqual([]);
      const again = await matrix.histogram('j', { ...options, weight: lazyJ(w) });
      expect(await again.toTypedArray()).toEqual(await sums.toTypedArray());
    });

    it('closes the last bin, and sees neither NaN nor what is outside', async () => {
      const x = await tensor([[0], [0.5], [1], [-0.001], [1.001], [NaN], [Infinity], [-Infinity]], {
        device: device(),
        dtype: 'float32',
      });
      const weight = lazyJ(
        await tensor([[1], [2], [4], [NaN], [NaN], [NaN], [8], [NaN]], {
          device: device(),
          dtype: 'float32',
        }),
      );
      const options = { bins: 2, range: [0, 1] } as const;
      const counts = await lazyJ(x).histogram('j', options);
      expect(await counts.toNested()).toEqual([[1, 2]]);
      const sums = await lazyJ(x).histogram('j', { ...options, weight });
      expect(await sums.toNested()).toEqual([[1, 6]]);
    });

    it('puts values on inner edges into the bin that begins there, and those just below into the one before', async () => {
      const edges = Float64Array.from({ length: 7 }, (_, k) => k * (0.3 / 7));
      const below = new Float64Array(edges.subarray(1));
      new BigInt64Array(below.buffer).forEach((bits, at, all) => {
        all[at] = bits - 1n;
      });
      const x = await tensor(Float64Array.of(...edges, ...below), {
        shape: [13, 1],
        dtype: 'float64',
        device: device(),
      });
      const counts = await lazyJ(x).histogram('j', { bins: 7, range: [0, 0.3] });
      expect(await counts.toNested()).toEqual([Array.from(edges, (_, k) => (k < 6 ? 2 : 1))]);
    });
  });
}
