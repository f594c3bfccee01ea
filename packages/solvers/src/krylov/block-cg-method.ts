import { eigh } from '@mercer/linalg';
import { map, type Tensor } from '@mercer/tensor';
import { times } from '../preconditioners/low-rank.js';
import { BLOCK } from './cg-formulas.js';
import { IN_FLOAT64, keeping } from './columns.js';
import type { KrylovMethod, KrylovState } from './iterate.js';
import type { LinearSystem } from './linear-system.js';

type Numbers = Tensor<'float64'>;

/** The state of block conjugate gradients. */
export interface BlockCgState extends KrylovState {
  /** The residuals and an orthonormal basis of the directions, (N, K). */
  readonly r: Tensor;
  readonly p: Tensor;
  /** 1 where a column of p is a direction, 0 where it is zeros, since there are fewer directions than columns; (K). */
  readonly live: Tensor;
  /** The energy that each column of x has gained since its least true residual, and in all. */
  readonly gain: Tensor;
  readonly total: Tensor;
  /** How often the recurrence has lost the true residual since it was least. */
  readonly lost: Tensor;
}

/**
 * Directions are the same to rounding where the square of one beside the others, of columns that are as long as each other, is at most this share of the squares' mean:
 * Gram matrices are computed in float64, so less is their own rounding, and in float32 that of the columns.
 */
const SAME = 2 ** -46;

/**
 * Block conjugate gradients (O'Leary 1980) in the form of Ji and Li (2017), which does not break down: all columns search the sum of their Krylov spaces. The
 * directions of a step are an orthonormal basis, by the eigenvectors of their Gram matrix, without those that the others span to rounding. Columns that are done give no
 * more directions, and are not changed any more.
 */
export class BlockCgMethod implements KrylovMethod<BlockCgState> {
  readonly what = 'cg';
  readonly system: LinearSystem;
  /** The eigenvalues of small matrices are computed by routines that wait inside. */
  readonly isCapturable = false;

  constructor(system: LinearSystem) {
    this.system = system;
  }

  readonly start = async (): Promise<BlockCgState> => {
    const { system } = this;
    const first = await system.first();
    return keeping(first, () =>
      system.preconditioned(first.r, async (z, norms) => {
        const { tolerance, numbers } = system;
        const columns = await map(
          BLOCK.BEGIN,
          { ...norms, tolerance },
          { parameters: numbers, ...IN_FLOAT64 },
        );
        return keeping(columns, async () => ({
          ...first,
          ...columns,
          ...(await this.#basis(z, columns.status)),
        }));
      }),
    );
  };

  readonly step = async (state: BlockCgState): Promise<BlockCgState> => {
    const { x, r, p, live, ...columns } = state;
    const { operator, tolerance, numbers, dots } = this.system;
    const { dtype } = operator;
    using ap: Tensor = await operator.matvec(p as never);
    using wideP = await p.cast('float64');
    using wideAp = await ap.cast('float64');
    using energies = await Energies.of(wideP, wideAp, live);
    const { least: pap } = energies;
    using wideR = await r.cast('float64');
    using along = await times(wideP, wideR, { transposeA: true });
    using wideSteps = await energies.solve(along);
    const { status } = columns;
    using moving = await map(BLOCK.MOVES, { status, pap }, IN_FLOAT64);
    using gained = await dots.of(along, wideSteps);
    using steps = await wideSteps.cast(dtype);
    using dx = await times(p, steps);
    using dr = await times(ap, steps);
    const moved = await map(BLOCK.STEP, { x, r, dx, dr, moving }, { dtype });
    return await keeping(moved, () =>
      this.system.preconditioned(moved.r, async (z, { norm2: rr, next }) => {
        const after = await map(
          BLOCK.RECURRENCE,
          { ...columns, pap, rr, next, gained, tolerance },
          { parameters: numbers, ...IN_FLOAT64 },
        );
        return await keeping(after, async () => {
          using wideZ = await z.cast('float64');
          using back = await times(wideAp, wideZ, { transposeA: true });
          using wideBeta = await energies.solve(back);
          using beta = await wideBeta.cast(dtype);
          using known = await times(p, beta);
          using directions: Tensor = await z.sub(known);
          return { ...moved, ...after, ...(await this.#basis(directions, after.status)) };
        });
      }),
    );
  };

  readonly check = async (state: BlockCgState): Promise<BlockCgState> => {
    const { x, r, p, live, ...before } = state;
    const { operator, tolerance, numbers } = this.system;
    using truth = await this.system.residual(x);
    return await this.system.preconditioned(truth, async (z, norms) => {
      const { restarts, ...columns } = await map(
        BLOCK.CHECK,
        { ...before, ...norms, tolerance },
        { parameters: numbers, ...IN_FLOAT64 },
      );
      using lost = restarts;
      return await keeping(columns, async () => {
        // directions are those of all columns together, and begin anew together
        using any = await lost.max(0, { keepDims: true });
        const fresh = await this.#basis(z, columns.status);
        using freshP = fresh.p;
        using freshLive = fresh.live;
        const onwards = await map(
          BLOCK.RESTART,
          { any, truth, fresh: freshP, r, p },
          { dtype: operator.dtype },
        );
        return await keeping(onwards, async () => ({
          x,
          ...onwards,
          ...columns,
          live: (await any.eq(1).where(freshLive, live)) as Tensor,
        }));
      });
    });
  };

  /** An orthonormal basis of the directions of columns that run, with zeros in the place of those that the others span. */
  async #basis(
    directions: Tensor,
    status: Tensor,
  ): Promise<{ readonly p: Tensor; readonly live: Tensor }> {
    const { dots, operator } = this.system;
    const { dtype } = operator;
    using squares = await dots.of(directions, directions);
    using runs = await map(BLOCK.RUNS, { status }, IN_FLOAT64);
    using used = await squares.gt(0).where(runs, 0);
    using lengths: Tensor = await used.eq(0).where(1, squares.sqrt());
    // columns that rest may hold anything, NaN too
    using alike: Tensor = await used.eq(0).where(0, directions.div(lengths));
    using wide = await alike.cast('float64');
    using gram = (await times(wide, wide, { transposeA: true })) as Numbers;
    const { values, vectors, infos } = await eigh(gram);
    using _infos = infos;
    using squaresOfBasis = values;
    using turn = vectors;
    using count = await used.sum();
    using least = await count.mul(SAME);
    using isLive = await squaresOfBasis.gt(least);
    const live: Tensor = await isLive.cast('float64');
    return await keeping({ live }, async () => {
      using weights: Tensor = await isLive.where(squaresOfBasis.abs().rsqrt(), 0);
      using change: Tensor = await isLive.where(turn.mul(weights), 0);
      using basis = await times(wide, change);
      return { p: await basis.cast(dtype), live };
    });
  }
}

/** The matrix `P^T A P` of directions, by its eigenvalues. */
class Energies implements Disposable {
  /** The least eigenvalue of the directions, [1]: not positive where the operator is not positive definite. NaN where a product is. */
  readonly least: Tensor;
  readonly #values: Tensor;
  readonly #vectors: Tensor;

  private constructor(least: Tensor, values: Tensor, vectors: Tensor) {
    this.least = least;
    this.#values = values;
    this.#vectors = vectors;
  }

  /** @param live see `BlockCgState` */
  static async of(p: Tensor, ap: Tensor, live: Tensor): Promise<Energies> {
    const [, count = 0] = p.shape;
    using matrix = await times(p, ap, { transposeA: true });
    using mirrored = matrix.transpose();
    using most = await matrix.abs().max();
    // directions that are zeros have the largest energy there, so that no other eigenvalue is theirs
    using idle: Tensor = await live.eq(0).where(most.gt(0).where(most, 1), 0);
    using onDiagonal = await idle.diag();
    using whole = (await matrix.add(mirrored).mul(0.5).add(onDiagonal)) as Numbers;
    const { values, vectors, infos } = await eigh(whole);
    using _infos = infos;
    return await keeping({ values, vectors }, async () => {
      using first = values.slice([0, Math.min(1, count)]);
      return new Energies(await first.clone(), values, vectors);
    });
  }

  /** `(P^T A P)^-1` times columns. */
  async solve(columns: Tensor): Promise<Tensor> {
    using turned = await times(this.#vectors, columns, { transposeA: true });
    using each = this.#values.reshape([-1, 1]);
    using divided: Tensor = await turned.div(each);
    return await times(this.#vectors, divided);
  }

  [Symbol.dispose](): void {
    for (const one of [this.least, this.#values, this.#vectors]) one.dispose();
  }
}
