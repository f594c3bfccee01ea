import { random, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  cg,
  denseOperator,
  eigsh,
  gmres,
  lanczos,
  lobpcg,
  logdet,
  lsmr,
  lsqr,
  minres,
  operator,
  trace,
  type LinearOperator,
} from '../index.js';
import { gaussian, matrixOf, pointsOf, type Matrix } from './systems.test-support.js';

const N = 40;
const good = gaussian(pointsOf(N), 0.5);
const key = random.key(1);
type Operator = LinearOperator<'float64'>;
type Options = { readonly signal?: AbortSignal; readonly preconditioner?: Operator };

/** A call of a solver: whether it says that it has converged, where it says so. */
type Call = (of: Operator, b: Tensor<'float64'>, options?: Options) => Promise<boolean | undefined>;

const isOut = (i: number): boolean => i < 3;
const eachElement = (one: (value: number, i: number, j: number) => number): Matrix =>
  good.map((row, i) => row.map((value, j) => one(value, i, j)));

/** What is not symmetric positive definite, or holds no numbers. */
const OPERATORS = {
  rectangular: good.slice(0, N / 2),
  asymmetric: eachElement((value, i, j) => value + (i < j ? 0.5 : 0)),
  indefinite: eachElement((value, i, j) => value - (i === j ? 1.2 : 0)),
  negative: eachElement((value) => -value),
  /** The right-hand side is out of its range. */
  singular: eachElement((value, i, j) => (isOut(i) || isOut(j) ? 0 : value)),
  zero: eachElement(() => 0),
  NaN: eachElement((value, i, j) => (i === 5 && j === 6 ? NaN : value)),
  infinite: eachElement((value, i, j) => (i === 5 && j === 6 ? Infinity : value)),
} satisfies Record<string, Matrix>;

/** What a call does: it resolves, without a word of convergence or with one, or throws an error of this code. */
type End = 'resolves' | 'converged' | 'not converged' | 'converged or not' | Uppercase<string>;
type Ends = Readonly<Record<keyof typeof OPERATORS, End>>;

const IN_ALL = {
  rectangular: 'SHAPE_MISMATCH',
  NaN: 'NOT_FINITE',
  infinite: 'NOT_FINITE',
} as const;
const OF_CG: Ends = {
  ...IN_ALL,
  // symmetry is not checked: what is not the solution is not said to be
  asymmetric: 'not converged',
  indefinite: 'INDEFINITE',
  negative: 'INDEFINITE',
  singular: 'not converged',
  zero: 'INDEFINITE',
};
const OF_SQUARE: Ends = {
  ...IN_ALL,
  asymmetric: 'converged or not',
  indefinite: 'converged',
  negative: 'converged',
  singular: 'not converged',
  zero: 'not converged',
};
/** Every operator has least-squares solutions. */
const OF_LEAST_SQUARES: Ends = {
  ...OF_SQUARE,
  asymmetric: 'converged',
  singular: 'converged',
  zero: 'converged',
};
const OF_EIGENPAIRS: Ends = {
  ...IN_ALL,
  asymmetric: 'ASYMMETRIC',
  indefinite: 'converged',
  negative: 'converged',
  singular: 'converged',
  zero: 'converged',
};
const OF_LANCZOS: Ends = {
  ...OF_EIGENPAIRS,
  indefinite: 'resolves',
  negative: 'resolves',
  singular: 'resolves',
  zero: 'resolves',
};

const solved =
  (solve: (of: Operator, b: Tensor<'float64'>, o?: Options) => ReturnType<typeof cg>): Call =>
  async (of, b, options) => {
    const { x, converged } = await solve(of, b, options);
    x.dispose();
    return converged;
  };

const SOLVERS: Readonly<Record<string, readonly [Call, Ends]>> = {
  cg: [solved(cg), OF_CG],
  'cg of blocks': [
    solved((of, b, o) => cg(of, b, { maxIterations: 3 * N, ...o, block: true })),
    OF_CG,
  ],
  minres: [solved(minres), OF_SQUARE],
  gmres: [solved((of, b, o) => gmres(of, b, { restart: N, ...o })), OF_SQUARE],
  lsqr: [solved(lsqr), OF_LEAST_SQUARES],
  lsmr: [solved(lsmr), OF_LEAST_SQUARES],
  eigsh: [
    async (of, _, o) => {
      const { values, vectors, converged } = await eigsh(of, { k: 2, key, ...o, blockSize: 1 });
      for (const one of [values, vectors]) one.dispose();
      return converged;
    },
    OF_EIGENPAIRS,
  ],
  lobpcg: [
    async (of, b, o) => {
      using x0 = b.reshape([N, 1]);
      const { values, vectors, converged } = await lobpcg(of, x0, {
        rtol: 1e-6,
        maxIterations: 4 * N,
        ...o,
      });
      for (const one of [values, vectors]) one.dispose();
      return converged;
    },
    // the largest ones of -A are close to each other
    { ...OF_EIGENPAIRS, negative: 'converged or not' },
  ],
  lanczos: [
    async (of, _, o) => {
      const { tridiagonal, basis } = await lanczos(of, { key, steps: 9, ...o });
      for (const one of [tridiagonal, basis]) one.dispose();
      return undefined;
    },
    OF_LANCZOS,
  ],
  logdet: [
    async (of, _, o) => {
      const { value } = await logdet(of, { key, ...o });
      value.dispose();
      return undefined;
    },
    {
      ...OF_LANCZOS,
      indefinite: 'INDEFINITE',
      negative: 'INDEFINITE',
      singular: 'INDEFINITE',
      zero: 'INDEFINITE',
    },
  ],
  trace: [
    async (of, _, o) => {
      const { value } = await trace(of, { key, ...o });
      value.dispose();
      return undefined;
    },
    // symmetry is not asked for
    { ...OF_LANCZOS, asymmetric: 'resolves' },
  ],
};

/** Solvers of systems, which take a preconditioner. */
const PRECONDITIONED = ['cg', 'cg of blocks', 'minres'] as const;

/** All solvers, of what they cannot solve: each says so, or throws what is documented. */
export function badSystemsSuite(name: string, place: () => Device): void {
  describe(`what cannot be solved on ${name}`, () => {
    let device: Device;
    let b: Tensor<'float64'>;
    let dense: Operator;
    const of = async (matrix: Matrix): Promise<Operator> =>
      denseOperator(await tensor(matrix, { device, dtype: 'float64' }));
    beforeAll(async () => {
      device = place();
      const column = matrixOf(N, 1).flat();
      b = await tensor(column, { device, dtype: 'float64' });
      dense = await of(good);
    });

    /** The matrix, with something done before a product. */
    const watched = (before: (count: number) => void, capturable: boolean): Operator => {
      let count = 0;
      return operator({
        shape: [N, N],
        dtype: 'float64',
        device,
        rmatvec: 'symmetric',
        capturable,
        matvec: (v) => {
          before(++count);
          return dense.matvec(v);
        },
      });
    };

    async function endOf(work: Promise<boolean | undefined>): Promise<string> {
      try {
        const converged = await work;
        return converged === undefined ? 'resolves' : converged ? 'converged' : 'not converged';
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        return code ?? message;
      }
    }

    it.each(Object.entries(SOLVERS))('%s ends as it says', async (solver, [call, ends]) => {
      const found: Record<string, string> = {};
      using long = await zeros([N + 1], { device, dtype: 'float64' });
      for (const [what, matrix] of Object.entries(OPERATORS)) {
        const { [what as keyof Ends]: wanted } = ends;
        const isLong = what === 'rectangular' && solver.startsWith('ls');
        const end = await endOf(call(await of(matrix), isLong ? long : b));
        const either = wanted === 'converged or not' && /^(not )?converged$/.test(end);
        found[what] = either ? wanted : end;
      }
      expect(found).toEqual(ends);
    });

    it.each(Object.entries(SOLVERS))(
      '%s gives what a product throws, in whichever one, and keeps no memory',
      async (_, [call]) => {
        const run = async (): Promise<void> => {
          for (const at of [1, 2])
            for (const capturable of [false, true]) {
              const throwing = watched((count) => {
                if (count === at) throw new RangeError('no more');
              }, capturable);
              await expect(call(throwing, b)).rejects.toThrow('no more');
            }
        };
        await run();
        expect(await memoryKept(device, run)).toEqual(NOTHING);
      },
    );

    it.each(Object.entries(SOLVERS))(
      '%s ends with its signal, before it begins and in a product, and keeps no memory',
      async (_, [call]) => {
        const run = async (): Promise<void> => {
          const signal = AbortSignal.abort(new Error('early'));
          await expect(call(dense, b, { signal })).rejects.toThrow('early');
          for (const at of [1, 2]) {
            const controller = new AbortController();
            const aborting = watched((count) => {
              if (count === at) controller.abort(new Error('enough'));
            }, false);
            const end = call(aborting, b, { signal: controller.signal });
            await expect(end).rejects.toThrow('enough');
          }
          await device.synchronize();
          await new Promise((resolve) => setImmediate(resolve));
        };
        await run();
        expect(await memoryKept(device, run)).toEqual(NOTHING);
      },
    );

    it.each(PRECONDITIONED)('%s refuses preconditioners that are not positive', async (solver) => {
      const [call] = SOLVERS[solver] as readonly [Call, Ends];
      const { negative, zero, NaN: broken } = OPERATORS;
      const ends: string[] = [];
      for (const matrix of [negative, zero, broken]) {
        const preconditioner = await of(matrix);
        ends.push(await endOf(call(dense, b, { preconditioner })));
      }
      expect(ends).toEqual(['BAD_PRECONDITIONER', 'BAD_PRECONDITIONER', 'NOT_FINITE']);
    });
  });
}
