import { map, type Tensor } from '@mercer/tensor';
import { IN_FLOAT64, keeping, release, type State } from './columns.js';
import type { KrylovMethod, KrylovState } from './iterate.js';
import type { LinearSystem } from './linear-system.js';
import {
  BEGIN,
  CHECK,
  ORTHOGONAL,
  RECURRENCE,
  RESTART,
  ROTATION,
  STEP,
  VECTORS,
} from './minres-formulas.js';

/** The state of MINRES, of each column. */
export interface MinresState extends KrylovState {
  /** The residual, and the last two Lanczos vectors, (N, K). */
  readonly r: Tensor;
  readonly q: Tensor;
  readonly q0: Tensor;
  /** `P q`. */
  readonly v: Tensor;
  /** The last two directions. */
  readonly w: Tensor;
  readonly w0: Tensor;
  /** What couples the two Lanczos vectors. */
  readonly beta: Tensor;
  /** What is left of rows of the tridiagonal matrix, of its right-hand side, and the last rotation. */
  readonly dbar: Tensor;
  readonly epsln: Tensor;
  readonly phibar: Tensor;
  readonly cs: Tensor;
  readonly sn: Tensor;
  /** The largest norm of a row of it: at most that of the operator. */
  readonly anorm: Tensor;
}

/**
 * MINRES (Paige and Saunders 1975) with a preconditioner, of all columns at once. The residual is carried along, since the recurrence of its norm is
 * that of the preconditioned one.
 */
export class MinresMethod implements KrylovMethod<MinresState> {
  readonly what = 'minres';
  readonly system: LinearSystem;

  constructor(system: LinearSystem) {
    this.system = system;
  }

  readonly start = async (): Promise<MinresState> => {
    const { system } = this;
    const { tolerance, numbers, operator } = system;
    const { x, r: truth } = await system.first();
    using _truth = truth;
    return await keeping({ x }, () =>
      system.preconditioned(truth, async (z, norms) => {
        const columns = await map(
          BEGIN,
          { ...norms, tolerance },
          { parameters: numbers, ...IN_FLOAT64 },
        );
        return keeping(columns, async () => {
          const { next } = norms;
          const vectors = await map(VECTORS, { truth, z, next }, { dtype: operator.dtype });
          return { x, ...vectors, ...columns };
        });
      }),
    );
  };

  readonly step = async (state: MinresState): Promise<MinresState> => {
    const { x, r, q, q0, v, w, w0, ...before } = state;
    const { system } = this;
    const { operator, dots, tolerance, numbers } = system;
    const { dtype } = operator;
    using av = await operator.matvec(v as never);
    using alfa = await dots.of(v, av);
    using t = await map(ORTHOGONAL, { av, alfa, q, beta: before.beta, q0 }, { dtype });
    const p = await system.direction(t);
    using _p = p === t ? undefined : p;
    using next = await dots.of(t, p);
    const { oldeps, delta, phi, gamma, moves, least, ...rotated } = await map(
      ROTATION,
      { ...rotatedOf(before), alfa, next },
      { parameters: numbers, ...IN_FLOAT64 },
    );
    const passing = { oldeps, delta, phi, gamma, moves, least };
    try {
      return await keeping(rotated, async () => {
        const { beta, cs, sn, phibar } = rotated;
        const moved = await map(
          STEP,
          { x, r, q, q0, v, w, w0, t, p, beta, cs, sn, phibar, oldeps, delta, phi, gamma, moves },
          { dtype },
        );
        return await keeping(moved, async () => {
          using rr = await dots.of(moved.r, moved.r);
          const { status, figure, count, norm, best, since } = before;
          const columns = await map(
            RECURRENCE,
            {
              status,
              figure,
              count,
              norm,
              best,
              since,
              alfa,
              next,
              rr,
              moves,
              least,
              tolerance,
            },
            { parameters: numbers, ...IN_FLOAT64 },
          );
          return { ...moved, ...rotated, ...columns };
        });
      });
    } finally {
      release(passing);
    }
  };

  readonly check = async (state: MinresState): Promise<MinresState> => {
    const { x, r, q, q0, v, w, w0, ...before } = state;
    const { system } = this;
    const { operator, tolerance, numbers } = system;
    using truth = await system.residual(x);
    return await system.preconditioned(truth, async (z, norms) => {
      const { restarts, ...columns } = await map(
        CHECK,
        { ...before, ...norms, tolerance },
        { parameters: numbers, ...IN_FLOAT64 },
      );
      using _restarts = restarts;
      return await keeping(columns, async () => {
        const { next } = norms;
        const vectors = await map(
          RESTART,
          { restarts, truth, z, next, r, q, q0, v, w, w0 },
          { dtype: operator.dtype },
        );
        return { x, ...vectors, ...columns };
      });
    });
  };
}

type Rotated = 'beta' | 'dbar' | 'epsln' | 'phibar' | 'cs' | 'sn' | 'anorm';

/** What a rotation is made of. */
const rotatedOf = (all: Pick<MinresState, 'status' | Rotated>): State => {
  const { status, beta, dbar, epsln, phibar, cs, sn, anorm } = all;
  return { status, beta, dbar, epsln, phibar, cs, sn, anorm };
};
