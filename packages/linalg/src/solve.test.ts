import { empty, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  at,
  definite,
  dense,
  general,
  minus,
  norm1,
  onlyMatrix,
  randomMatrix,
  rounded,
  times,
  toTensor,
} from './matrices.test-support.js';
import { solveSuite } from './solve-suite.test-support.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';

solveSuite('with LAPACK', [1, 2, 3, 7, 16, 33, 64, 130, 257]);

const zeros = (...shape: number[]): Tensor<'float32'> => empty(shape, { device: 'cpu' });

describe('bad input of the solvers', () => {
  const cases: readonly [string, () => Promise<unknown>, string, RegExp][] = [
    [
      'a that is not square',
      () => solveLU(zeros(2, 3), zeros(2, 1)),
      'SHAPE_MISMATCH',
      /not square/,
    ],
    ['a vector', () => solveLU(zeros(2, 2), zeros(2)), 'SHAPE_MISMATCH', /reshape\(\[n, 1\]\)/],
    [
      'sides of another length',
      () => solveLU(zeros(2, 2), zeros(3, 1)),
      'SHAPE_MISMATCH',
      /\[2, c\]/,
    ],
    [
      'rows said, columns given',
      () => solveLU(zeros(2, 2), zeros(2, 1), { rightHandSides: 'rows' }),
      'SHAPE_MISMATCH',
      /rightHandSides: 'columns'/,
    ],
    [
      'batches that do not broadcast',
      () => solveLU(zeros(2, 2, 2), zeros(3, 2, 1)),
      'SHAPE_MISMATCH',
      /\[3\].*\[2\]/,
    ],
    [
      'more batch axes than there is room for',
      () => solveLU(zeros(1, 1, 1, 1, 1, 1, 1, 2, 2), zeros(2, 1)),
      'SHAPE_MISMATCH',
      /At most 6/,
    ],
    [
      'dtypes that differ',
      async () =>
        solveLU(
          zeros(2, 2) as Tensor as Tensor<'float64'>,
          await tensor(new Float64Array(2), { shape: [2, 1], device: 'cpu' }),
        ),
      'DTYPE_MISMATCH',
      /float64/,
    ],
    [
      'an integer matrix',
      async () => {
        const a = await tensor(new Int32Array(4), { shape: [2, 2], device: 'cpu' });
        return solveLU(a as Tensor as Tensor<'float32'>, zeros(2, 1));
      },
      'DTYPE_MISMATCH',
      /cast\('float32'\)/,
    ],
    ['what is no tensor', () => solveLU([[1]] as never, zeros(1, 1)), 'INVALID_ARGUMENT', /tensor/],
    [
      'a word that uplo is not',
      () => solveCholesky(zeros(1, 1), zeros(1, 1), { uplo: 'both' as never }),
      'INVALID_ARGUMENT',
      /'lower' or 'upper'/,
    ],
    [
      'two places for the solution',
      () => solveLU(zeros(1, 1), zeros(1, 1), { out: zeros(1, 1), overwriteB: true }),
      'INVALID_ARGUMENT',
      /overwriteB/,
    ],
    [
      'a flag that is a number',
      () => solveLU(zeros(1, 1), zeros(1, 1), { overwriteA: 1 as never }),
      'INVALID_ARGUMENT',
      /overwriteA is 1\. Pass true or false/,
    ],
    [
      'a flag that is a text, of a preparation',
      () => solveCholesky.prepare(zeros(1, 1), zeros(1, 1), { overwriteB: 'no' as never }),
      'INVALID_ARGUMENT',
      /overwriteB is "no"\. Pass true or false/,
    ],
    [
      'a flag that is null',
      () => solveLU(zeros(1, 1), zeros(1, 1), { overwriteA: null as never }),
      'INVALID_ARGUMENT',
      /overwriteA is null\. Pass true or false/,
    ],
    [
      'half a correction',
      () => solveLU(zeros(1, 1), zeros(1, 1), { refine: 0.5 }),
      'INVALID_ARGUMENT',
      /refine is 0.5/,
    ],
    [
      'a float32 factor to leave in a',
      () => solveLU(zeros(1, 1), zeros(1, 1), { refine: 1, overwriteA: true }),
      'INVALID_ARGUMENT',
      /overwriteA/,
    ],
    [
      'out of another shape',
      () => solveLU(zeros(1, 1), zeros(1, 1), { out: zeros(1, 2) }),
      'SHAPE_MISMATCH',
      /out/,
    ],
    [
      'a broadcast a to overwrite',
      () => solveLU(zeros(2, 2), zeros(3, 2, 1), { overwriteA: true }),
      'SHAPE_MISMATCH',
      /cannot be overwritten/,
    ],
  ];
  it.each(cases)('refuses %s', async (_name, call, code, message) => {
    await expect(call()).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });

  it('refuses an out that shares memory with a, and disposed tensors', async () => {
    const a = zeros(2, 2);
    await expect(solveLU(a, zeros(2, 2), { out: a })).rejects.toThrow(/shares memory/);
    const gone = zeros(2, 2);
    gone.dispose();
    await expect(solveLU(gone, a)).rejects.toThrow(/disposed/);
  });
});

describe('refinement', () => {
  it('is exact to float32 for float32 systems, where a plain solve is not', async () => {
    const n = 100;
    const a = rounded(definite(n, 3, 1e5), 'float32');
    const ones = dense(n, 1, () => 1);
    const b = await toTensor(rounded(times(a, ones), 'float32'), 'float32');
    const truth = (await solveCholesky(await toTensor(a, 'float64'), await b.cast('float64'))).x;
    const off = async (options: object): Promise<number> => {
      const { x } = await solveCholesky(await toTensor(a, 'float32'), b, options);
      return (
        norm1(minus(await onlyMatrix(x), await onlyMatrix(truth))) / norm1(await onlyMatrix(truth))
      );
    };
    expect(await off({ refine: 10 })).toBeLessThan(2 ** -23);
    expect(await off({})).toBeGreaterThan(2 ** -21);
  });

  it('takes right-hand sides beyond the range of float32, each column by a scale of its own', async () => {
    const a = await toTensor(definite(5, 7), 'float64');
    const column = randomMatrix(5, 1, 8);
    const scales = [1e250, 1e-250, 0, NaN, 1];
    const b = dense(5, 5, (i, j) => at(column, i, 0) * (scales[j] ?? 0));
    for (const solve of [solveCholesky, solveLU]) {
      const { x, infos } = await solve(a, await toTensor(b, 'float64'), { refine: 3 });
      expect(await infos.toNested()).toBe(0);
      const found = await onlyMatrix(x);
      for (let i = 0; i < 5; i++) {
        const truth = at(found, i, 4);
        expect(at(found, i, 0) / 1e250).toBeCloseTo(truth, 12);
        expect(at(found, i, 1) / 1e-250).toBeCloseTo(truth, 12);
        expect(at(found, i, 2)).toBe(0);
        expect(at(found, i, 3)).toBeNaN();
      }
    }
  });
});

describe('the event loop', () => {
  it('is free while a large system is solved, and the call resolves before it is', async () => {
    const n = 1200;
    const next = randomMatrix(n, n, 1);
    for (let i = 0; i < n; i++) next.data[i * n + i]! += n;
    const a = await toTensor(next, 'float64');
    const { x } = await solveLU(a, a);
    const left = a.device.defaultStream.inFlight;
    a.dispose();
    const state = { isSolved: false };
    const finished = x.ready().then(() => (state.isSolved = true));
    // a loop that is held up turns once or twice
    let turns = 0;
    for (; !state.isSolved; turns++) await new Promise((resolve) => setImmediate(resolve));
    await finished;
    expect(left).toBeGreaterThan(0);
    expect(turns).toBeGreaterThan(100);
    const solved = await x.toTypedArray();
    expect(solved[0]).toBeCloseTo(1, 12);
    expect(solved[1]).toBeCloseTo(0, 12);
  });

  it('keeps the order of a stream: each solve reads what the one before it wrote', async () => {
    const a = await toTensor(general(40, 5), 'float64');
    const b = await toTensor(randomMatrix(40, 40, 6), 'float64');
    let x = b;
    for (let i = 0; i < 20; i++) x = (await solveLU(a, x)).x;
    let y = b;
    for (let i = 0; i < 20; i++) {
      y = (await solveLU(a, y)).x;
      await y.ready();
    }
    expect(await x.toTypedArray()).toEqual(await y.toTypedArray());
  });

  it('orders streams by the tensors', async () => {
    const a = await toTensor(definite(300, 5), 'float64');
    const b = await toTensor(randomMatrix(300, 2, 6), 'float64');
    using stream = a.device.createStream();
    const { x } = await solveCholesky(a, b, { stream });
    const { x: y } = await solveCholesky(a, x);
    const { x: again } = await solveCholesky(a, (await solveCholesky(a, b)).x);
    expect(await y.toTypedArray()).toEqual(await again.toTypedArray());
  });
});
