import { expect, it } from 'vitest';
import { factorsSuite } from './factors-suite.test-support.js';
import { dense, toTensor } from './matrices.test-support.js';
import { solveTriangular } from './solve-triangular.js';

factorsSuite('with LAPACK', [1, 2, 5, 31, 70, 140]);

it('reads nothing of a diagonal that counts as ones', async () => {
  const options = { unitDiagonal: true, rightHandSides: 'rows' } as const;
  for (const uplo of ['lower', 'upper'] as const) {
    const make = (diagonal: number, beside: number) =>
      dense(2, 2, (i, j) => (i === j ? diagonal : i > j === (uplo === 'lower') ? beside : NaN));
    const a = await toTensor([make(NaN, 2), make(Infinity, 2), make(1, Infinity)], 'float64');
    const b = await toTensor(
      dense(1, 2, () => 1),
      'float64',
    );
    const { x, infos } = await solveTriangular(a, b, { ...options, uplo });
    expect(await infos.toNested()).toEqual([0, 0, -1]);
    const truth = uplo === 'lower' ? [1, -1] : [-1, 1];
    expect(await x.toNested()).toEqual([[truth], [truth], [[NaN, NaN]]]);
  }
});
