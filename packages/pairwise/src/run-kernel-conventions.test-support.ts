import { exp, mul, neg, variable } from '@mercer/formula';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import { customKernel, kernelDescriptor, kernels, runKernel, type PairwiseDType } from './index.js';
import { matrix, upload, uploadBatch } from './matrices.test-support.js';
import { expectKernel } from './run-kernel-checks.test-support.js';
import { combinations, covering, together } from './together.test-support.js';

const [d, c] = [variable('d'), variable('c')];
/** `c exp(-d)`: c, not 1, between equal rows. */
const weighted = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
  kernel: customKernel(mul(c, exp(neg(d))), { parameters: ['c'] }),
});

/** Kermac's conventions, symmetry, scaling and custom kernels. */
export function describeConventions(
  device: () => Device,
  { full }: { readonly full: boolean },
): void {
  const place = (x: ReferenceMatrix): Promise<Tensor<PairwiseDType>> =>
    upload(x, 'row', 0, 'float32', device());
  const one = matrix(13, 6, 41);

  describe('epsilon', () => {
    // Two rows at 1-norm distance 6e-6, two at 2e-5.
    const rows: ReferenceMatrix = {
      rows: 3,
      columns: 1,
      values: Float64Array.of(0, Math.fround(6e-6), Math.fround(2e-5)),
    };

    it('is 1e-5 for laplace and gaussian unless given', async () => {
      const x = await place(rows);
      const scale = { bandwidth: 1e-5 };
      const usual = await runKernel(kernels.laplace, x, x, scale);
      const [same, near, far] = await usual.toTypedArray();
      expect([same, near]).toEqual([1, 1]);
      expect(far).toBeLessThan(0.2);
      const exact = await runKernel(kernels.laplace, x, x, { ...scale, epsilon: 0 });
      expect((await exact.toTypedArray())[1]).toBeCloseTo(Math.exp(-0.6), 5);
      const wide = await runKernel(kernels.laplace, x, x, { ...scale, epsilon: 1e-4 });
      expect([...(await wide.toTypedArray())]).toEqual(new Array(9).fill(1));
      const inMemory = await tensor([1e-4], { dtype: 'float32', device: device() });
      const asTensor = await runKernel(kernels.laplace, x, x, { ...scale, epsilon: inMemory });
      expect(await asTensor.toTypedArray()).toEqual(await wide.toTypedArray());
    });

    it('is 0 for all others, and can be given on differences', async () => {
      const x = await place(rows);
      const norm = await (await runKernel(kernels.manhattan, x, x)).toTypedArray();
      expect(norm[1]).toBeCloseTo(6e-6, 10);
      const clamped = await runKernel(kernels.manhattan, x, x, { epsilon: 1e-5 });
      const values = await clamped.toTypedArray();
      expect([values[0], values[1]]).toEqual([0, 0]);
      expect(values[2]).toBeCloseTo(2e-5, 9);
    });
  });

  describe('exponents from memory', () => {
    it('that are not positive and finite make their batch entries NaN', async () => {
      const laplace = kernelDescriptor({
        innerOperator: 'diff',
        innerPower: 'pow',
        outerPower: 'pow',
        kernel: 'laplace',
      });
      const constant = kernelDescriptor({
        innerOperator: 'dot',
        innerPower: 'pow',
        outerPower: 'none',
        kernel: 'none',
      });
      const norms = [1.5, 0, -1, Infinity, NaN, -Infinity, 2];
      for (const [turn, dtype] of (['float32', 'float64'] as const).entries()) {
        const x = await upload(one, 'row', 0, dtype, device());
        const place = async (values: number[]): Promise<Tensor<PairwiseDType>> =>
          tensor(values, { dtype, device: device() });
        const p = await place(norms);
        const calls = [
          [kernels.minkowski, { p }],
          [kernels.minkowski, { innerP: p, outerP: 0.5 }],
          [kernels.minkowski, { innerP: 2, outerP: p }],
          [laplace, { p, bandwidth: 2, regularization: 0.25 }],
          [constant, { innerP: p }],
        ] as const;
        for (const [descriptor, options] of covering<(typeof calls)[number]>(calls, turn, full)) {
          for (const rows of [x, x.slice([0, 1])]) {
            const given = options as { readonly p: typeof p };
            const result = await runKernel(descriptor as typeof kernels.minkowski, rows, x, given);
            const values = await result.toTypedArray();
            const size = values.length / norms.length;
            norms.forEach((norm, l) => {
              const own = values.slice(l * size, (l + 1) * size);
              // A regularised diagonal does not depend on what was computed there.
              const width = result.shape.at(-1) ?? 1;
              const others = [...own].filter((_, at) => at % width !== Math.floor(at / width));
              const isNorm = norm > 0 && norm < Infinity;
              expect(others.every(isNorm ? Number.isFinite : Number.isNaN)).toBe(true);
              if (isNorm || 'regularization' in options)
                expect(own.some(Number.isNaN)).toBe(!isNorm);
              else expect(own.every(Number.isNaN)).toBe(true);
            });
          }
        }
        for (const norm of [0, -1, Infinity]) {
          const single = await runKernel(kernels.minkowski, x, {
            p: await place([norm]),
          });
          expect((await single.toTypedArray()).every(Number.isNaN)).toBe(true);
          const prepared = await runKernel.prepare(kernels.minkowski, x, {
            p: await place([2]),
          });
          const later = prepared(x, undefined, { p: await place([norm]) });
          expect((await later.toTypedArray()).every(Number.isNaN)).toBe(true);
        }
      }
    });
  });

  describe('regularization', () => {
    it('makes the diagonal 1 + r for kernels of differences that are 1 there, and adds r elsewhere', async () => {
      const other = matrix(13, 6, 42);
      const [x, y] = [await place(one), await place(other)];
      const calls = [
        [kernels.gaussian, { bandwidth: 2 }],
        [kernels.matern52, { bandwidth: 2 }],
        [kernels.dot, {}],
        [kernels.manhattan, {}],
        [kernels.polynomial, { gamma: 0.5, offset: 1, degree: 2 }],
      ] as const;
      await together(
        combinations(calls, [0, 0.5]),
        async ([[descriptor, values], regularization]) => {
          const options = { ...values, regularization };
          const result = await runKernel(descriptor as typeof kernels.dot, x, y, options);
          await expectKernel(result, descriptor, one, other, options);
        },
      );
      const custom = { parameters: { c: 0.25 }, regularization: 0.5 };
      const result = await runKernel(weighted, x, y, custom);
      const function_ = (t: number): number => 0.25 * Math.exp(-t);
      await expectKernel(result, weighted, one, other, { custom: function_, regularization: 0.5 });
    });

    it('finds its diagonal in a tile of a larger matrix', async () => {
      const x = await place(one);
      const options = { bandwidth: 2, regularization: 0.25 };
      const whole = await runKernel(kernels.gaussian, x, options);
      const height = 5;
      for (const [top, left] of [
        [0, 0],
        [4, 2],
        [2, 4],
        [0, 8],
        [8, 0],
      ] as const) {
        const regularizationOffset = [top, left] as const;
        const rows = [x.slice([top, top + height]), x.slice([left, left + height])] as const;
        const tile = await runKernel(kernels.gaussian, ...rows, {
          ...options,
          regularizationOffset,
        });
        using part = whole.slice([top, top + height], [left, left + height]);
        const [got, want] = [await tile.toTypedArray(), await part.toTypedArray()];
        for (const [i, value] of want.entries()) expect(got[i]).toBeCloseTo(value, 6);
      }
    });

    it('takes one value per batch entry, and every layout of out', async () => {
      const parts = [0, 1].map((i) => matrix(7, 6, 50 + i));
      const x = await uploadBatch(parts, 'float32', device());
      const regularization = await tensor([0.5, 2], { dtype: 'float32', device: device() });
      const result = await runKernel(kernels.gaussian, x, {
        bandwidth: 2,
        regularization,
      });
      for (const [l, part] of parts.entries()) {
        const values = { bandwidth: 2, regularization: l === 0 ? 0.5 : 2 };
        await expectKernel(result.slice(l), kernels.gaussian, part, part, values);
      }
      const out = await upload(
        { ...one, columns: 13, values: new Float64Array(169) },
        'column',
        3,
        'float32',
        device(),
      );
      const options = { bandwidth: 2, regularization: 0.5 };
      await runKernel(kernels.gaussian, await place(one), { ...options, out });
      await expectKernel(out, kernels.gaussian, one, one, options);
    });
  });

  describe('one input', () => {
    it.each([
      ['manhattan', kernels.manhattan, {}],
      ['minkowski', kernels.minkowski, { p: 1.3 }],
      ['dot', kernels.dot, {}],
    ] as const)('%s is exactly symmetric', async (_, descriptor, values) => {
      await together([1, 2, 13, 65], async (rows) => {
        const a = matrix(rows, 5, 60 + rows);
        const x = await place(a);
        const result = await runKernel(descriptor as typeof kernels.dot, x, values);
        await expectKernel(result, descriptor, a, a, values);
        const entries = await result.toTypedArray();
        const mirrored = await result.transpose().toTypedArray();
        expect(mirrored).toEqual(entries);
        const named = await runKernel(descriptor as typeof kernels.dot, x, x, {
          ...values,
          symmetric: true,
        });
        expect(await named.toTypedArray()).toEqual(entries);
      });
    });

    it('computes all pairs where the order matters, or on request', async () => {
      const signed = kernelDescriptor({
        innerOperator: 'diff',
        innerPower: 'none',
        outerPower: 'none',
        kernel: 'none',
      });
      const x = await place(one);
      await expectKernel(await runKernel(signed, x), signed, one, one);
      const full = await runKernel(kernels.dot, x, { symmetric: false });
      await expectKernel(full, kernels.dot, one, one);
    });
  });

  describe('scale and cosine', () => {
    const factors = [0.5, 2, -1, 3.5, 0, 1.25];

    it('multiplies features by a number, a vector, or a row per batch entry', async () => {
      const other = matrix(12, 6, 43);
      const [x, y] = [await place(one), await place(other)];
      const vector = await tensor(factors, { dtype: 'float32', device: device() });
      const check = async (
        scale: number | Tensor<PairwiseDType>,
        list: number[],
      ): Promise<void> => {
        const result = await runKernel(kernels.gaussian, x, y, { bandwidth: 2, scale });
        await expectKernel(result, kernels.gaussian, one, other, { bandwidth: 2, scale: list });
      };
      await check(0.75, [0.75]);
      await check(vector, factors);
      await check(vector.slice([1, 2]), [2]);
      await check(vector.slice([null, null, -1]), [...factors].reverse());
      const rows = await tensor([factors, [...factors].reverse()], {
        dtype: 'float32',
        device: device(),
      });
      const both = await runKernel(kernels.gaussian, x, { bandwidth: 2, scale: rows });
      expect(both.shape).toEqual([2, 13, 13]);
      for (const [l, scale] of [factors, [...factors].reverse()].entries()) {
        await expectKernel(both.slice(l), kernels.gaussian, one, one, { bandwidth: 2, scale });
      }
    });

    it('cosine is 0 at a zero row and does not overflow', async () => {
      const rows: ReferenceMatrix = {
        rows: 4,
        columns: 2,
        values: Float64Array.of(0, 0, 3, 4, -6, -8, 1e-3, 0),
      };
      const x = await place(rows);
      const result = await runKernel(kernels.cosine, x);
      await expectKernel(result, kernels.cosine, rows, rows);
      const [first = NaN] = await result.toTypedArray();
      expect(first).toBe(0);
    });
  });

  it('computes custom kernels with parameters of any name', async () => {
    const names = ['bandwidth', 'out', 'int'] as const;
    const [h, o, i] = names.map((name) => variable(name));
    if (h === undefined || o === undefined || i === undefined) throw new Error('three names');
    const descriptor = kernelDescriptor({
      innerOperator: 'diff',
      innerPower: 'abs',
      outerPower: 'none',
      kernel: customKernel(mul(mul(o, i), exp(mul(d, neg(h)))), { parameters: names }),
    });
    const x = await place(one);
    const out = await tensor([2], { dtype: 'float32', device: device() });
    const parameters = { bandwidth: 0.25, out, int: 3 };
    const result = await runKernel(descriptor, x, { parameters });
    await expectKernel(result, descriptor, one, one, { custom: (t) => 6 * Math.exp(-t / 4) });
  });
}
