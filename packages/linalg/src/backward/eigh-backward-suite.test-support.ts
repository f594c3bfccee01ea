import type { Device, Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { eigh } from '../eigh.js';
import {
  at,
  dense,
  flip,
  identity,
  randomMatrix,
  randomOrthogonal,
  symmetricWith,
  times,
  toDense,
  type Dense,
} from '../matrices.test-support.js';
import { eighBackward } from './eigh-backward.js';
import {
  checkRule,
  expectClose,
  halved,
  randomHost,
  toDevice,
  toHost,
  type Hosts,
  type RuleCase,
} from './finite-differences.test-support.js';
import {
  diagonal,
  inner,
  matricesOf,
  only,
  pick,
  put as putOn,
  signsLike,
  spread,
  TRIANGLES,
  withSigns,
} from './rule-inputs.test-support.js';
import type { SpectrumWarning } from './spectrum.js';

function alignEigen(results: Hosts, unchanged: Hosts): Hosts {
  const { vectors } = results;
  const base = unchanged['vectors'];
  if (vectors === undefined || base === undefined) return results;
  return { ...results, vectors: withSigns(vectors, signsLike(vectors, base, -1), -1) };
}

/** Gradients of eigenvalues and eigenvectors. */
export function eighBackwardSuite(where: string, deviceOf: () => Device): void {
  const put = (matrices: Dense | readonly Dense[]): Promise<Tensor<'float64'>> =>
    putOn(matrices, deviceOf());

  describe(`eighBackward, ${where}`, () => {
    const rule = (
      batch: readonly number[],
      n: number,
      uplo: 'lower' | 'upper',
      names: readonly ('values' | 'vectors')[],
    ): RuleCase => ({
      triangle: uplo,
      cores: { values: 1 },
      align: alignEigen,
      inputs: {
        a: halved(
          matricesOf(batch, (seed) => symmetricWith(spread(n), seed)),
          uplo,
        ),
      },
      forward: async (inputs) => {
        const { values, vectors } = await eigh(only(inputs, 'a'), { uplo });
        return pick({ values, vectors }, names);
      },
      backward: async (gradients, inputs) =>
        eighBackward(gradients, await eigh(only(inputs, 'a'), { uplo })),
    });

    it.each([
      ['values', ['values']],
      ['vectors', ['vectors']],
      ['both', ['values', 'vectors']],
    ] as const)('%s, of one matrix and of batches, either triangle', async (_, names) => {
      for (const uplo of TRIANGLES) {
        for (const [batch, n] of [
          [[], 4],
          [[2], 3],
          [[2, 1], 1],
        ] as const) {
          await checkRule(rule(batch, n, uplo, names), deviceOf());
        }
      }
    });

    it('has exactly 0 for the terms of equal eigenvalues, and tells', async () => {
      const warnings: SpectrumWarning[] = [];
      const a = await put([diagonal(1, 1, 2), identity(3), diagonal(1, 2, 3)]);
      const { values, vectors } = await eigh(a);
      const dValues = await toDevice(randomHost([3, 3], 1), 'float64', deviceOf());
      const dVectors = await toDevice(randomHost([3, 3, 3], 2), 'float64', deviceOf());
      const { a: da } = await eighBackward(
        { values: dValues, vectors: dVectors },
        { values, vectors },
        { onDegenerate: (warning) => warnings.push(warning) },
      );
      const [w, v, slopes, g, found] = [
        await toHost(values),
        await toDense(vectors),
        await toHost(dValues),
        await toDense(dVectors),
        await toDense(da),
      ] as const;
      found.forEach((matrix, entry) => {
        const basis = v[entry] as Dense;
        const m = times(flip(basis), g[entry] as Dense);
        const value = (i: number): number => w.data[entry * 3 + i] ?? NaN;
        const middle = dense(3, 3, (i, j) => {
          if (i === j) return slopes.data[entry * 3 + i] ?? NaN;
          const gap = value(j) - value(i);
          return Math.abs(gap) < 1e-12 ? 0 : (at(m, i, j) - at(m, j, i)) / (2 * gap);
        });
        expectClose(matrix.data, times(times(basis, middle), flip(basis)).data, 1e-13);
      });
      expect(warnings.map(({ code, entry, pairs }) => [code, entry, pairs])).toEqual([
        ['DEGENERATE_SPECTRUM', 0, [[0, 1]]],
        [
          'DEGENERATE_SPECTRUM',
          1,
          [
            [0, 1],
            [0, 2],
            [1, 2],
          ],
        ],
      ]);
      expect(warnings[0]?.message).toMatch(/eighBackward: equal eigenvalues at positions \(0, 1\)/);
    });

    it('gives the true gradient of a loss that does not see the basis of equal eigenvalues', async () => {
      // the projector onto the space of the two smaller eigenvalues
      const weight = randomMatrix(4, 4, 8);
      const projector = async (matrix: Dense): Promise<Dense> => {
        const [v] = await toDense((await eigh(await put(matrix))).vectors);
        const two = dense(4, 2, (i, j) => at(v as Dense, i, j));
        return times(two, flip(two));
      };
      const q = randomOrthogonal(4, 5);
      const a = times(times(q, diagonal(1, 1, 3, 4)), flip(q));
      const direction = symmetricWith([1, -2, 0.5, 0.7], 9);
      const moved = (step: number): Dense =>
        dense(4, 4, (i, j) => (at(a, i, j) + at(a, j, i)) / 2 + step * at(direction, i, j));
      const slope =
        (inner(weight, await projector(moved(1e-5))) -
          inner(weight, await projector(moved(-1e-5)))) /
        2e-5;
      const saved = await eigh(await put(moved(0)));
      const [v] = (await toDense(saved.vectors)) as [Dense];
      const both = dense(4, 4, (i, j) => at(weight, i, j) + at(weight, j, i));
      const g = times(both, v);
      const gradient = dense(4, 4, (i, j) => (j < 2 ? at(g, i, j) : 0));
      const { a: da } = await eighBackward({ vectors: await put(gradient) }, saved);
      const [found] = (await toDense(da)) as [Dense];
      expectClose([inner(found, direction)], [slope], 1e-6);
    });

    it('counts values as equal by its tolerance', async () => {
      const saved = await eigh(await put(diagonal(1, 1 + 1e-6, 2)));
      const vectors = await toDevice(randomHost([3, 3], 2), 'float64', deviceOf());
      const largest = async (tolerance?: number): Promise<number> => {
        const { a } = await eighBackward({ vectors }, saved, { tolerance });
        return Math.max(...(await toHost(a)).data.map(Math.abs));
      };
      expect(await largest()).toBeGreaterThan(1e4);
      expect(await largest(1e-5)).toBeLessThan(10);
    });

    it('is NaN where there are no eigenvalues, and only there', async () => {
      const bad = dense(2, 2, () => NaN);
      const saved = await eigh(await put([bad, diagonal(1, 2)]));
      const vectors = await toDevice(randomHost([2, 2, 2], 2), 'float64', deviceOf());
      const { data } = await toHost((await eighBackward({ vectors }, saved)).a);
      expect([...data].map(Number.isNaN)).toEqual([
        true,
        true,
        true,
        true,
        ...Array<boolean>(4).fill(false),
      ]);
    });
  });
}
