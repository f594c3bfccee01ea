import { map, type Tensor } from '@mercer/tensor';
import { BEGIN, CHECK, DIRECTION, RECURRENCE, RESTART, STEP } from './cg-formulas.js';
import { IN_FLOAT64, keeping } from './columns.js';
import type { KrylovMethod, KrylovState } from './iterate.js';
import type { LinearSystem } from './linear-system.js';

/** The state of conjugate gradients, of each column. */
export interface CgState extends KrylovState {
  /** The residual and the direction, (N, K). */
  readonly r: Tensor;
  readonly p: Tensor;
  /** `r . P r`. */
  readonly rz: Tensor;
  /** The energy that x has gained since the least true residual, and in all. */
  readonly gain: Tensor;
  readonly total: Tensor;
  /** How often the recurrence has lost the true residual since it was least. */
  readonly lost: Tensor;
}

/**
 * Conjugate gradients (Hestenes and Stiefel 1952) with a preconditioner, of all columns at once, each with steps of its own. Every decision is
 * taken on the device: columns that are done have steps of length 0.
 */
export class CgMethod implements KrylovMethod<CgState> {
  readonly what = 'cg';
  readonly system: LinearSystem;

  constructor(system: LinearSystem) {
    this.system = system;
  }

  readonly start = async (): Promise<CgState> => {
    const { system } = this;
    const first = await system.first();
    return keeping(first, () =>
      system.preconditioned(first.r, async (z, norms) => {
        const { tolerance, numbers } = system;
        const p = await z.clone();
        return keeping({ p }, async () => ({
          ...first,
          p,
          ...(await map(BEGIN, { ...norms, tolerance }, { parameters: numbers, ...IN_FLOAT64 })),
        }));
      }),
    );
  };

  readonly step = async (state: CgState): Promise<CgState> => {
    const { x, r: before, p, ...columns } = state;
    const { rz, status } = columns;
    const { operator, dots, tolerance, numbers } = this.system;
    const { dtype } = operator;
    using ap = await operator.matvec(p as never);
    using pap = await dots.of(p, ap);
    const moved = await map(STEP, { x, r: before, p, ap, pap, rz, status }, { dtype });
    return await keeping(moved, () =>
      this.system.preconditioned(moved.r, async (z, { norm2: rr, next }) => {
        // of numbers that are there: it need not wait for what the step makes of columns
        const direction = await map(DIRECTION, { z, p, next, rz, pap, status }, { dtype });
        return await keeping({ direction }, async () => {
          const after = await map(
            RECURRENCE,
            { ...columns, pap, rr, next, tolerance },
            { parameters: numbers, ...IN_FLOAT64 },
          );
          return { ...moved, p: direction, ...after };
        });
      }),
    );
  };

  readonly check = async (state: CgState): Promise<CgState> => {
    const { x, r, p, ...before } = state;
    const { operator, tolerance, numbers } = this.system;
    using truth = await this.system.residual(x);
    return await this.system.preconditioned(truth, async (z, norms) => {
      const { restarts, ...columns } = await map(
        CHECK,
        { ...before, ...norms, tolerance },
        { parameters: numbers, ...IN_FLOAT64 },
      );
      using _restarts = restarts;
      return await keeping(columns, async () => {
        const onwards = await map(RESTART, { restarts, truth, z, r, p }, { dtype: operator.dtype });
        return { x, ...onwards, ...columns };
      });
    });
  };
}
