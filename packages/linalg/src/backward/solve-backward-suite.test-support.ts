import type { Device, Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { LinalgDType } from '../checks.js';
import { cholesky } from '../cholesky.js';
import { inv } from '../inv.js';
import { logdet } from '../logdet.js';
import { lstsq } from '../lstsq.js';
import { definite, general, symmetricWith } from '../matrices.test-support.js';
import { solveCholesky } from '../solve-cholesky.js';
import { solveLU } from '../solve-lu.js';
import { solveTriangular } from '../solve-triangular.js';
import { choleskyBackward } from './cholesky-backward.js';
import {
  checkRule,
  expectClose,
  halved,
  randomHost,
  stack,
  toDevice,
  toHost,
  type Host,
  type Tensors,
} from './finite-differences.test-support.js';
import { matricesOf, only, TRIANGLES } from './rule-inputs.test-support.js';
import { invBackward } from './inv-backward.js';
import { logdetBackward } from './logdet-backward.js';
import { lstsqBackward } from './lstsq-backward.js';
import { solveCholeskyBackward } from './solve-cholesky-backward.js';
import { solveLUBackward } from './solve-lu-backward.js';
import { solveTriangularBackward } from './solve-triangular-backward.js';

/** Batch axes of a and of b, and right-hand sides. */
const SHAPES = [
  ['one system', [], [], 2],
  ['batch', [2], [2], 1],
  ['a broadcast', [], [2], 3],
  ['b broadcast', [2], [], 2],
  ['both broadcast', [2, 1], [3], 1],
] as const;

const SIDES = ['columns', 'rows'] as const;

/** Random right-hand sides of n entries. */
const sidesOf = (batch: readonly number[], n: number, c: number, side: 'columns' | 'rows'): Host =>
  randomHost([...batch, ...(side === 'rows' ? [c, n] : [n, c])], 9);

const pair = (inputs: Tensors): Record<'a' | 'b', Tensor<LinalgDType>> => ({
  a: only(inputs, 'a'),
  b: only(inputs, 'b'),
});
const one = (inputs: Tensors): Record<'a', Tensor<LinalgDType>> => ({ a: only(inputs, 'a') });
/** Gradients of solves and of what follows from Cholesky and LU factors. */
export function solveBackwardSuite(where: string, deviceOf: () => Device): void {
  describe(`backward rules of solves, ${where}`, () => {
    it.each(SHAPES)('solveCholesky, %s', async (_, batchA, batchB, c) => {
      for (const uplo of TRIANGLES) {
        for (const rightHandSides of SIDES) {
          const options = { uplo, rightHandSides };
          const rule = {
            triangle: uplo,
            inputs: {
              a: halved(
                matricesOf(batchA, (seed) => definite(3, seed)),
                uplo,
              ),
              b: sidesOf(batchB, 3, c, rightHandSides),
            },
            forward: async (inputs: Tensors) => {
              const { a, b } = pair(inputs);
              return { x: (await solveCholesky(a, b, options)).x };
            },
            backward: async (gradients: Tensors, inputs: Tensors, results: Tensors) => {
              const saved = { ...pair(inputs), x: only(results, 'x') };
              return solveCholeskyBackward(only(gradients, 'x'), saved, options);
            },
          };
          await checkRule(rule, deviceOf());
          const byFactor = {
            ...rule,
            backward: async (gradients: Tensors, inputs: Tensors, results: Tensors) => {
              const { a, b } = pair(inputs);
              const { factor } = await cholesky(a, { uplo });
              const saved = { factor, b: { shape: b.shape }, x: only(results, 'x') };
              return solveCholeskyBackward(only(gradients, 'x'), saved, options);
            },
          };
          await checkRule(byFactor, deviceOf());
        }
      }
    });

    it.each(SHAPES)('solveLU, %s', async (_, batchA, batchB, c) => {
      for (const rightHandSides of SIDES) {
        const options = { rightHandSides };
        await checkRule(
          {
            inputs: {
              a: matricesOf(batchA, (seed) => general(3, seed)),
              b: sidesOf(batchB, 3, c, rightHandSides),
            },
            forward: async (inputs) => {
              const { a, b } = pair(inputs);
              return { x: (await solveLU(a, b, options)).x };
            },
            backward: (gradients, inputs, results) =>
              solveLUBackward(
                only(gradients, 'x'),
                { ...pair(inputs), x: only(results, 'x') },
                options,
              ),
          },
          deviceOf(),
        );
      }
    });

    it.each(SHAPES)('solveTriangular, %s', async (_, batchA, batchB, c) => {
      for (const uplo of TRIANGLES) {
        for (const rightHandSides of SIDES) {
          for (const transpose of [false, true]) {
            const unitDiagonal = transpose === (uplo === 'upper');
            const options = { uplo, rightHandSides, transpose, unitDiagonal };
            await checkRule(
              {
                inputs: {
                  a: halved(
                    matricesOf(batchA, (seed) => definite(3, seed, 3)),
                    uplo,
                  ),
                  b: sidesOf(batchB, 3, c, rightHandSides),
                },
                forward: async (inputs) => {
                  const { a, b } = pair(inputs);
                  return { x: (await solveTriangular(a, b, options)).x };
                },
                backward: (gradients, inputs, results) =>
                  solveTriangularBackward(
                    only(gradients, 'x'),
                    { ...pair(inputs), x: only(results, 'x') },
                    options,
                  ),
              },
              deviceOf(),
            );
          }
        }
      }
    });

    it('gives what is asked for alone', async () => {
      const a = await toDevice(
        matricesOf([], (seed) => definite(3, seed)),
        'float64',
        deviceOf(),
      );
      const b = await toDevice(randomHost([3, 2], 1), 'float64', deviceOf());
      const { x } = await solveLU(a, b);
      expect(Object.keys(await solveLUBackward(b, { a, x }, { wrt: ['b'] }))).toEqual(['b']);
      expect(Object.keys(await solveCholeskyBackward(b, { a, x }, { wrt: ['a'] }))).toEqual(['a']);
      expect(await solveLUBackward(b, { a, x }, { wrt: [] })).toEqual({});
    });

    it.each([
      ['one system of more rows than columns', [], [], [5, 3]],
      ['of fewer', [], [], [3, 5]],
      ['square', [], [], [3, 3]],
      ['a broadcast', [], [2], [4, 3]],
      ['b broadcast', [2], [], [3, 4]],
      ['both broadcast', [2, 1], [2], [4, 2]],
    ] as const)('lstsq, %s', async (_, batchA, batchB, [m, n]) => {
      for (const rightHandSides of SIDES) {
        const options = { rightHandSides };
        await checkRule(
          {
            inputs: {
              a: randomHost([...batchA, m, n], 5),
              b: sidesOf(batchB, m, 2, rightHandSides),
            },
            forward: async (inputs) => {
              const { a, b } = pair(inputs);
              return { x: (await lstsq(a, b, options)).x };
            },
            backward: (gradients, inputs, results) =>
              lstsqBackward(
                only(gradients, 'x'),
                { ...pair(inputs), x: only(results, 'x') },
                options,
              ),
            tolerance32: 1e-2,
          },
          deviceOf(),
        );
      }
    });

    it('lstsq of deficient rank: right for changes that keep the rank, and finite', async () => {
      // a = p q^T with p and q of one column: every change of p and q keeps rank 1
      const product = (p: Host, q: Host): Host => ({
        shape: [4, 3],
        data: Float64Array.from(
          { length: 12 },
          (_, at) => (p.data[Math.floor(at / 3)] ?? NaN) * (q.data[at % 3] ?? NaN),
        ),
      });
      const [p, q, direction] = [
        randomHost([4], 1),
        randomHost([3], 2),
        randomHost([4], 3),
      ] as const;
      const b = await toDevice(randomHost([4, 2], 4), 'float64', deviceOf());
      const upstream = randomHost([3, 2], 5);
      const options = { tolerance: 1e-8 };
      const solve = async (step: number): Promise<Host> => {
        const moved = { ...p, data: p.data.map((x, i) => x + step * (direction.data[i] ?? NaN)) };
        const a = await toDevice(product(moved, q), 'float64', deviceOf());
        return toHost((await lstsq(a, b, options)).x);
      };
      const lossOf = ({ data }: Host): number =>
        data.reduce((sum, x, i) => sum + x * (upstream.data[i] ?? NaN), 0);
      const slope = (lossOf(await solve(1e-5)) - lossOf(await solve(-1e-5))) / 2e-5;
      const a = await toDevice(product(p, q), 'float64', deviceOf());
      const { x } = await lstsq(a, b, options);
      const g = await toDevice(upstream, 'float64', deviceOf());
      const { a: da } = await lstsqBackward(g, { a, b, x }, options);
      const change = product(direction, q);
      const found = (await toHost(da)).data.reduce((s, d, i) => s + d * (change.data[i] ?? NaN), 0);
      expectClose([found], [slope], 1e-6);
    });
  });

  describe(`backward rules of factors, ${where}`, () => {
    it.each([
      ['one matrix', [], 4],
      ['a batch', [2], 3],
      ['order 1', [2], 1],
    ] as const)('cholesky, %s', async (_, batch, n) => {
      for (const uplo of TRIANGLES) {
        await checkRule(
          {
            triangle: uplo,
            inputs: {
              a: halved(
                matricesOf(batch, (seed) => definite(n, seed)),
                uplo,
              ),
            },
            forward: async (inputs) => ({
              factor: (await cholesky(one(inputs).a, { uplo })).factor,
            }),
            backward: (gradients, _inputs, results) =>
              choleskyBackward(
                only(gradients, 'factor'),
                { factor: only(results, 'factor') },
                { uplo },
              ),
          },
          deviceOf(),
        );
      }
    });

    it('cholesky does not look at the other triangle of the gradient', async () => {
      const a = matricesOf([], (seed) => definite(3, seed));
      for (const uplo of TRIANGLES) {
        const { factor } = await cholesky(await toDevice(a, 'float64', deviceOf()), { uplo });
        const plain = randomHost([3, 3], 2);
        const found = await Promise.all(
          [plain, halved(plain, uplo)].map(async (host) => {
            const gradient = await toDevice(host, 'float64', deviceOf());
            return toHost((await choleskyBackward(gradient, { factor }, { uplo })).a);
          }),
        );
        expect(found[1]).toEqual(found[0]);
        expect(found[0]?.data.every(Number.isFinite)).toBe(true);
      }
    });

    it.each([
      ['one matrix', []],
      ['a batch', [2]],
    ] as const)('inv, %s', async (_, batch) => {
      await checkRule(
        {
          inputs: { a: matricesOf(batch, (seed) => general(3, seed)) },
          forward: async (inputs) => ({ inverse: (await inv(one(inputs).a)).inverse }),
          backward: (gradients, _inputs, results) =>
            invBackward(only(gradients, 'inverse'), { inverse: only(results, 'inverse') }),
        },
        deviceOf(),
      );
      for (const uplo of TRIANGLES) {
        const options = { method: 'cholesky', uplo } as const;
        await checkRule(
          {
            triangle: uplo,
            inputs: {
              a: halved(
                matricesOf(batch, (seed) => definite(3, seed)),
                uplo,
              ),
            },
            forward: async (inputs) => ({
              inverse: (await inv(one(inputs).a, options)).inverse,
            }),
            backward: (gradients, _inputs, results) =>
              invBackward(
                only(gradients, 'inverse'),
                { inverse: only(results, 'inverse') },
                { method: options.method },
              ),
          },
          deviceOf(),
        );
      }
    });

    it.each([
      ['one matrix', []],
      ['a batch', [2, 2]],
    ] as const)('logdet, %s', async (_, batch) => {
      const plain = {
        inputs: { a: matricesOf(batch, (seed) => general(3, seed)) },
        forward: async (inputs: Tensors) => ({
          logAbs: (await logdet(one(inputs).a)).logAbs,
        }),
      };
      await checkRule(
        {
          ...plain,
          backward: (gradients, inputs) => logdetBackward(only(gradients, 'logAbs'), one(inputs)),
        },
        deviceOf(),
      );
      await checkRule(
        {
          ...plain,
          backward: async (gradients, inputs) => {
            const saved = await inv(one(inputs).a);
            return logdetBackward(only(gradients, 'logAbs'), { inverse: saved.inverse });
          },
        },
        deviceOf(),
      );
      for (const uplo of TRIANGLES) {
        const options = { method: 'cholesky', uplo } as const;
        const rule = {
          triangle: uplo,
          inputs: {
            a: halved(
              matricesOf(batch, (seed) => definite(3, seed)),
              uplo,
            ),
          },
          forward: async (inputs: Tensors) => ({
            logAbs: (await logdet(one(inputs).a, options)).logAbs,
          }),
        };
        await checkRule(
          {
            ...rule,
            backward: (gradients, inputs) =>
              logdetBackward(only(gradients, 'logAbs'), one(inputs), options),
          },
          deviceOf(),
        );
        await checkRule(
          {
            ...rule,
            backward: async (gradients, inputs) => {
              const saved = await inv(one(inputs).a, options);
              return logdetBackward(only(gradients, 'logAbs'), { inverse: saved.inverse }, options);
            },
          },
          deviceOf(),
        );
      }
    });

    it('has NaN where there is no result, and only there', async () => {
      const singular = symmetricWith([1, 2, 0], 4);
      const exactly = { ...singular, data: new Float64Array(9) };
      const a = await toDevice(
        stack([2], [exactly, symmetricWith([1, 2, 3], 4)]),
        'float64',
        deviceOf(),
      );
      const b = await toDevice(randomHost([2, 3, 1], 1), 'float64', deviceOf());
      const { x } = await solveLU(a, b);
      const { a: da } = await solveLUBackward(b, { a, x });
      const { data } = await toHost(da);
      expect(data.subarray(0, 9).every(Number.isNaN)).toBe(true);
      expect(data.subarray(9).every(Number.isFinite)).toBe(true);
    });
  });
}
