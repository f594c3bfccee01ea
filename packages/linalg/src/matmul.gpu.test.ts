import { monitorEventLoopDelay } from 'node:perf_hooks';
import { device, devices, tensor, zeros, type Tensor } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { describe, expect, it } from 'vitest';
import { describeEinsum } from './einsum-suite.test-support.js';
import { random } from './matrices.test-support.js';
import { matmul } from './matmul.js';
import { halvesSuite, matmulSuite } from './matmul-suite.test-support.js';
import { spin } from './spin.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');
const precisions = ['float32', 'tf32', 'tf32x3'] as const;
const host = device('cpu');
const U = 2 ** -24;

/** Published bounds in units of u |a| |b|, once more and on their own. */
const bounds = {
  float32: (k: number) => 2 * (k + 2),
  tf32: (k: number) => 2 ** 15 + 2 * k + 16,
  tf32x3: (k: number) => {
    const chunk = k <= 2 ** 17 ? 256 : 256 * Math.ceil(Math.sqrt(k / 2) / 256);
    return 3 * Math.min(k, chunk) + 3 * Math.ceil(k / chunk) + 16;
  },
};

const data: Readonly<Record<string, (next: () => number) => number>> = {
  'of both signs': (next) => next(),
  'in [0, 1]': (next) => Math.abs(next()),
  'near 100': (next) => 100 + next(),
};

if (gpus.length === 0) it.skip('matmul on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeEinsum(() => gpu);
  });
  matmulSuite(`on ${gpu.id}`, () => gpu, { scatters: true });
  halvesSuite(`on ${gpu.id}`, () => gpu);
  for (const precision of precisions) {
    matmulSuite(`on ${gpu.id}`, () => gpu, { scatters: true, precision });
  }

  const made = async (rows: number, columns: number, seed: number, kind = 'of both signs') => {
    const next = random(seed);
    const draw = data[kind]!;
    const values = Float32Array.from({ length: rows * columns }, () => draw(next));
    return { values, x: await tensor(values, { shape: [rows, columns], device: gpu }) };
  };

  describe(`the accuracy of products on ${gpu.id}`, () => {
    const [m, n] = [96, 80];
    const cases = [100, 1000, 8192, 150_000].flatMap((k) =>
      Object.keys(data).map((kind) => [k, kind] as const),
    );

    it.each(cases)('over %i steps of numbers %s is as published', async (k, kind) => {
      const a = await made(m, k, 1, kind);
      const b = await made(n, k, 2, kind);
      const worst: Record<string, number> = {};
      const found: Record<string, Float32Array> = {};
      for (const precision of precisions) {
        const product = await matmul(a.x, b.x, { transposeB: true, precision });
        found[precision] = await product.toTypedArray();
        worst[precision] = 0;
      }
      for (let i = 0; i < m; i += 5) {
        for (let j = 0; j < n; j += 3) {
          let [sum, magnitude] = [0, 0];
          for (let l = 0; l < k; l++) {
            const term = a.values[i * k + l]! * b.values[j * k + l]!;
            sum += term;
            magnitude += Math.abs(term);
          }
          for (const precision of precisions) {
            const error = Math.abs(found[precision]![i * n + j]! - sum) / (U * magnitude);
            worst[precision] = Math.max(worst[precision]!, error);
          }
        }
      }
      const report = precisions.map((one) => `${one} ${worst[one]!.toFixed(1)}`).join(', ');
      console.log(`k = ${k}, ${kind}: errors of ${report} u |a| |b|`);
      for (const precision of precisions) {
        expect(worst[precision]).toBeLessThan(bounds[precision](k));
      }
      // Sums that are cut into chunks do not drift: one TF32 sum of 8192 steps would be some 750 u off.
      if (k === 8192) expect(worst['tf32x3']).toBeLessThan(150);
      if (k >= 1000) expect(worst['tf32x3']).toBeLessThan(worst['tf32']!);
    });
  });

  describe(`products on the streams of ${gpu.id}`, () => {
    it.each(precisions)('can be captured in %s, copies included', async (precision) => {
      const a = (await made(64, 64, 1)).x;
      const strided = (await made(64, 128, 2)).x.slice(null, [0, 128, 2]);
      const out = await zeros([64, 64], { device: gpu, dtype: 'float32' });
      using stream = gpu.createStream();
      await matmul(a, strided, { out, stream, precision });
      const once = await out.toTypedArray({ stream });
      await out.fill(0, { stream });
      await gpu.synchronize();
      const native = nativeStream(stream);
      native.beginCapture();
      await matmul(a, strided, { out, beta: 1, stream, precision });
      const exec = native.endCapture().instantiate();
      // Memory that is allocated now must not be what the graph works in.
      const others = await Promise.all([1, 2, 3].map((seed) => made(64, 64, seed)));
      exec.launch(native);
      exec.launch(native);
      await native.whenDone();
      const twice = await out.toTypedArray({ stream });
      twice.forEach((value, i) => {
        expect(Math.abs(value - 2 * once[i]!)).toBeLessThan(64 * 64 * 2 ** -22);
      });
      for (const { values, x } of others) expect(await x.toTypedArray()).toEqual(values);
      exec.dispose();
    });

    it('never wait for the device', async () => {
      await spin(gpu.defaultStream, 1);
      const a = await made(256, 256, 1);
      const strided = a.x.slice([0, 256, 2], [0, 256, 2]);
      const calls = (): Promise<Tensor<'float32'>>[] => [
        ...precisions.map((precision) => matmul(a.x, a.x, { precision })),
        matmul(strided, strided, { transposeB: true }),
      ];
      const expected = await Promise.all(calls().map(async (one) => (await one).toTypedArray()));
      await spin(gpu.defaultStream, 400);
      const start = performance.now();
      const products = await Promise.all(calls());
      const enqueued = performance.now() - start;
      expect(nativeStream(gpu.defaultStream).query()).toBe(false);
      expect(enqueued).toBeLessThan(200);
      const actual = await Promise.all(products.map((one) => one.toTypedArray()));
      expect(actual).toEqual(expected);
    });
  });

  for (const maxBytes of [4000, 30_000, undefined]) {
    matmulSuite(`of host memory by ${gpu.id} within ${maxBytes} bytes`, () => host, {
      scatters: true,
      runs: 60,
      place: () => ({ device: gpu, maxBytes }),
    });
  }
  matmulSuite(`of host memory by ${gpu.id}`, () => host, {
    scatters: true,
    runs: 60,
    precision: 'tf32x3',
    place: () => ({ device: gpu, maxBytes: 6000 }),
  });

  describe(`large products of host memory by ${gpu.id}`, () => {
    it.each(precisions)(
      'equal those of its own memory in %s, with a free event loop',
      { timeout: 120_000 },
      async (precision) => {
        const n = 3000;
        const [a, b] = [await made(n, n, 1), await made(n, n, 2)];
        const whole = await (await matmul(a.x, b.x, { precision })).toTypedArray();
        const [left, right] = [await a.x.to('cpu'), await b.x.to('cpu')];
        await left.ready();
        const delay = monitorEventLoopDelay({ resolution: 5 });
        delay.enable();
        const maxBytes = 2 ** 26;
        const product = await matmul(left, right, { device: gpu, precision, maxBytes });
        delay.disable();
        const blocked = await product.toTypedArray();
        let worst = 0;
        blocked.forEach((value, i) => {
          worst = Math.max(worst, Math.abs(value - whole[i]!));
        });
        expect(worst).toBeLessThan(2 * bounds[precision](n) * U * n);
        const p99 = delay.percentile(99) / 1e6;
        console.log(
          `${precision}: differs by ${worst.toExponential(2)}, event loop p99 ${p99.toFixed(1)} ms`,
        );
        expect(p99).toBeLessThan(50);
      },
    );
  });
}
