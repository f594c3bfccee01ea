import { describe, expect, it } from 'vitest';
import { device, tensor, type Tensor } from '../index.js';
import { elementwiseSuite } from './elementwise-suite.test-support.js';

describe('elementwise operations on the CPU', () => {
  // the interpreter needs no compiler for another dtype
  const whole =
    process.env['MERCER_TEST_FULL'] === '1' || process.env['MERCER_CPU'] === 'interpreted';
  elementwiseSuite(() => device('cpu'), { whole });

  describe.each([
    ['float32', [-149, 127], 10],
    ['float64', [-1074, 1023], 22],
  ] as const)('logarithms of powers, in %s', (dtype, [least, most], digits) => {
    const of = async (values: readonly number[]): Promise<Tensor> =>
      tensor(values, { device: 'cpu', dtype });

    it('of 2 are whole', async () => {
      const powers = Array.from({ length: most - least + 1 }, (_, k) => least + k);
      const x = await of(powers.map((k) => 2 ** k));
      expect(await x.log2().toNested()).toEqual(powers);
    });

    it('of 10 are whole, and those of their neighbours are not 0', async () => {
      const powers = Array.from({ length: digits + 1 }, (_, k) => k);
      const x = await of(powers.map((k) => 10 ** k));
      expect(await x.log10().toNested()).toEqual(powers);
      const near = [1 + 2 ** -23, 1 - 2 ** -23];
      const logarithms = await (await of(near)).log10().toTypedArray();
      for (const [k, one] of near.entries()) {
        expect(Number(logarithms[k]) / Math.log10(one)).toBeCloseTo(1, 6);
      }
    });
  });
});
