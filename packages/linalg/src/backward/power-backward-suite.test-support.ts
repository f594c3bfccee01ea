import type { Device, Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { eigh } from '../eigh.js';
import { dense, geometric, identity, symmetricWith, type Dense } from '../matrices.test-support.js';
import { matrixPower } from '../matrix-power.js';
import { qr } from '../qr.js';
import {
  checkRule,
  expectClose,
  halved,
  randomHost,
  toDevice,
  toHost,
  type RuleCase,
} from './finite-differences.test-support.js';
import { matricesOf, only, pick, put as putOn, TRIANGLES } from './rule-inputs.test-support.js';
import { matrixPowerBackward } from './matrix-power-backward.js';
import { qrBackward } from './qr-backward.js';
import type { SpectrumWarning } from './spectrum.js';

/** Gradients of QR factors and matrix powers. */
export function powerBackwardSuite(where: string, deviceOf: () => Device): void {
  const put = (matrices: Dense | readonly Dense[]): Promise<Tensor<'float64'>> =>
    putOn(matrices, deviceOf());

  describe(`qrBackward, ${where}`, () => {
    it.each([
      ['square', [], 3, 3],
      ['tall', [], 5, 3],
      ['wide', [], 3, 5],
      ['a batch of tall ones', [2], 3, 2],
      ['a batch of wide ones', [2, 1], 2, 3],
      ['one column', [2], 3, 1],
      ['one row', [], 1, 3],
    ] as const)('%s, of q, r and both', async (_, batch, m, n) => {
      for (const names of [['q'], ['r'], ['q', 'r']]) {
        await checkRule(
          {
            inputs: { a: randomHost([...batch, m, n], 6) },
            forward: async (inputs) => {
              const { q, r } = await qr(only(inputs, 'a'));
              return pick({ q, r }, names);
            },
            backward: async (gradients, inputs) =>
              qrBackward(gradients, await qr(only(inputs, 'a'))),
          },
          deviceOf(),
        );
      }
    });
  });

  describe(`matrixPowerBackward, ${where}`, () => {
    it.each([-1, -0.5, -0.25, 0, 0.5, 1, 2, 2.7])('power %s', async (power) => {
      for (const [batch, eigenvalues] of [
        [[], [0.3, 1, 2.2, 5]],
        [[2], [1, 1, 4]],
        [[], [2, 2 + 1e-9, 2 + 1e-4]],
        [[2, 1], [0.7]],
      ] as const) {
        for (const uplo of TRIANGLES) {
          const rule: RuleCase = {
            triangle: uplo,
            inputs: {
              a: halved(
                matricesOf(batch, (seed) => symmetricWith(eigenvalues, seed)),
                uplo,
              ),
            },
            forward: async (inputs) => ({
              result: (await matrixPower(only(inputs, 'a'), power, { uplo, eps: 0.1 })).result,
            }),
            backward: (gradients, inputs) =>
              matrixPowerBackward(only(gradients, 'result'), { a: only(inputs, 'a') }, power, {
                uplo,
                eps: 0.1,
              }),
          };
          await checkRule(rule, deviceOf());
          if (uplo === 'upper') continue;
          await checkRule(
            {
              ...rule,
              backward: async (gradients, inputs) => {
                const saved = await eigh(only(inputs, 'a'), { uplo });
                return matrixPowerBackward(only(gradients, 'result'), saved, power, { eps: 0.1 });
              },
            },
            deviceOf(),
          );
        }
      }
    });

    it('is that of the inverse root by products too', async () => {
      const newton = { method: 'newton' } as const;
      await checkRule(
        {
          triangle: 'lower',
          inputs: {
            a: halved(
              matricesOf([], (seed) => symmetricWith([1, 2, 4], seed)),
              'lower',
            ),
          },
          forward: async (inputs) => ({
            result: (await matrixPower(only(inputs, 'a'), -0.5, newton)).result,
          }),
          backward: (gradients, inputs) =>
            matrixPowerBackward(only(gradients, 'result'), { a: only(inputs, 'a') }, -0.5),
          tolerance: 1e-5,
        },
        deviceOf(),
      );
    });

    it('loses nothing where eigenvalues nearly agree, and spans many magnitudes', async () => {
      // d(a^p)[i, j] of a diagonal a is the divided difference times the change; references in exact arithmetic
      const pairs = [
        [1, 1 + 2 ** -40],
        [1, 1 + 2 ** -20],
        [1, 1.5],
        [1e-6, 1e6],
        [3, 3],
      ] as const;
      for (const power of [0.5, -1, 3]) {
        const closed = (x: number, y: number): number => {
          if (power === 0.5) return 1 / (Math.sqrt(x) + Math.sqrt(y));
          return power === -1 ? -1 / (x * y) : x * x + x * y + y * y;
        };
        for (const [x, y] of pairs) {
          const values = await toDevice(
            { shape: [2], data: Float64Array.of(x, y) },
            'float64',
            deviceOf(),
          );
          const vectors = await put(identity(2));
          const gradient = await put(dense(2, 2, () => 1));
          const { a } = await matrixPowerBackward(gradient, { values, vectors }, power);
          const found = (await toHost(a)).data[1] ?? NaN;
          expect(Math.abs(found / closed(x, y) - 1)).toBeLessThan(2e-14);
        }
      }
    });

    it('is finite at eigenvalues of 0, and tells where there is no derivative', async () => {
      const eigenvalues = [0, 0, 2];
      const values = await toDevice(
        { shape: [3], data: Float64Array.from(eigenvalues) },
        'float64',
        deviceOf(),
      );
      const vectors = await put(identity(3));
      const gradient = await put(dense(3, 3, () => 1));
      const expected: Readonly<Record<string, readonly number[]>> = {
        // in order [0, 0], [0, 2], [2, 2]
        '0.5': [0, 1 / Math.sqrt(2), 0.5 / Math.sqrt(2)],
        '1': [1, 1, 1],
        '2': [0, 2, 4],
        '0': [0, 0, 0],
      };
      for (const [power, wanted] of Object.entries(expected)) {
        const warnings: SpectrumWarning[] = [];
        const onDegenerate = (warning: SpectrumWarning): void => void warnings.push(warning);
        const saved = { values, vectors };
        const { a } = await matrixPowerBackward(gradient, saved, Number(power), { onDegenerate });
        const { data } = await toHost(a);
        expectClose([data[1] ?? NaN, data[2] ?? NaN, data[8] ?? NaN], wanted, 1e-14);
        const pairs = [
          [0, 0],
          [0, 1],
          [1, 1],
        ];
        expect(warnings.map((warning) => warning.pairs)).toEqual(power === '0.5' ? [pairs] : []);
      }
    });

    it('works at ill-conditioned matrices', async () => {
      await checkRule(
        {
          triangle: 'lower',
          inputs: {
            a: halved(
              matricesOf([], (seed) => symmetricWith(geometric(4, 100), seed)),
              'lower',
            ),
          },
          forward: async (inputs) => ({
            result: (await matrixPower(only(inputs, 'a'), -0.25)).result,
          }),
          backward: (gradients, inputs) =>
            matrixPowerBackward(only(gradients, 'result'), { a: only(inputs, 'a') }, -0.25),
        },
        deviceOf(),
      );
    });
  });
}
