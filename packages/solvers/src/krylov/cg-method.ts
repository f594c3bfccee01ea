import { map, type Tensor } from '@mercer/tensor';
import type { LinearOperator } from '../operators/linear-operator.js';
import { BEGIN, CHECK, DIRECTION, GOAL, RECURRENCE, RESTART, STEP } from './cg-formulas.js';
import { Dots, keeping, release } from './columns.js';
import type { KrylovMethod, KrylovState } from './iterate.js';

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
  /** The least true residual, and how many iterations had been made then. */
  readonly best: Tensor;
  readonly since: Tensor;
}

/** A system with its numbers. */
export interface CgSystem {
  readonly operator: LinearOperator;
  readonly preconditioner: LinearOperator | undefined;
  /** Right-hand sides, (N, K). */
  readonly b: Tensor;
  /** (N, K). */
  readonly x0: Tensor | undefined;
  readonly rtol: number;
  readonly atol: number;
  readonly maxIterations: number;
}

const IN_FLOAT64 = { dtype: 'float64' } as const;

/** The unit of rounding. */
const unitOf = (dtype: string): number => (dtype === 'float64' ? 2 ** -53 : 2 ** -24);

/**
 * Conjugate gradients (Hestenes and Stiefel 1952) with a preconditioner, of all columns at once, each with steps of its own. Every decision is
 * taken on the device: columns that are done have steps of length 0.
 */
export class CgMethod implements KrylovMethod<CgState>, Disposable {
  readonly what = 'cg';
  readonly device;
  readonly isCapturable: boolean;
  readonly #system: CgSystem;
  readonly #dots: Dots;
  readonly #goal: { readonly scale: Tensor; readonly tolerance: Tensor };

  private constructor(
    system: CgSystem,
    dots: Dots,
    goal: { readonly scale: Tensor; readonly tolerance: Tensor },
  ) {
    const { operator, preconditioner } = system;
    this.device = operator.device;
    this.isCapturable = operator.isCapturable && preconditioner?.isCapturable !== false;
    this.#system = system;
    this.#dots = dots;
    this.#goal = goal;
  }

  static async of(system: CgSystem): Promise<CgMethod> {
    const { b, rtol, atol } = system;
    const dots = await Dots.on(b.device);
    using bb = await dots.of(b, b);
    const goal = await map(GOAL, { bb }, { parameters: { rtol, atol }, ...IN_FLOAT64 });
    return new CgMethod(system, dots, goal);
  }

  get scale(): Tensor {
    return this.#goal.scale;
  }

  get #numbers(): { readonly unit: number; readonly most: number } {
    const { operator, maxIterations } = this.#system;
    return { unit: unitOf(operator.dtype), most: maxIterations };
  }

  async start(): Promise<CgState> {
    const first = await this.#first();
    return keeping(first, async () => {
      const z = await this.#direction(first.r);
      const p = z === first.r ? await z.clone() : z;
      return await keeping({ p }, async () => {
        const { norm2, next } = await this.#norms(first.r, z);
        using _square = norm2;
        using _energy = next === norm2 ? undefined : next;
        const { tolerance } = this.#goal;
        const { most } = this.#numbers;
        const parameters = { most };
        const columns = await map(BEGIN, { norm2, next, tolerance }, { parameters, ...IN_FLOAT64 });
        return { ...first, p, ...columns };
      });
    });
  }

  /** x and its residual. A right-hand side of zeros has the solution 0, whatever x0 is. */
  async #first(): Promise<{ readonly x: Tensor; readonly r: Tensor }> {
    const { b, x0 } = this.#system;
    const x = x0 === undefined ? await b.mul(0) : await this.scale.eq(0).where(0, x0);
    return keeping({ x }, async () => ({
      x,
      r: x0 === undefined ? await b.clone() : await this.#residual(x),
    }));
  }

  async #residual(x: Tensor): Promise<Tensor> {
    const { operator, b } = this.#system;
    using product = await operator.matvec(x as never);
    return await b.sub(product);
  }

  /** The preconditioned residual; the residual itself where there is no preconditioner. */
  async #direction(r: Tensor): Promise<Tensor> {
    const { preconditioner } = this.#system;
    return preconditioner === undefined ? r : preconditioner.matvec(r as never);
  }

  /** `r . r` and `r . z`. */
  async #norms(r: Tensor, z: Tensor): Promise<{ readonly norm2: Tensor; readonly next: Tensor }> {
    const norm2 = await this.#dots.of(r, r);
    return { norm2, next: z === r ? norm2 : await this.#dots.of(r, z) };
  }

  readonly step = async (state: CgState): Promise<CgState> => {
    const { p, rz, status, count, norm, figure, gain, total, best, since } = state;
    const { operator } = this.#system;
    const { dtype } = operator;
    using ap = await operator.matvec(p as never);
    using pap = await this.#dots.of(p, ap);
    const moved = await map(STEP, { x: state.x, r: state.r, p, ap, pap, rz, status }, { dtype });
    return await keeping(moved, async () => {
      const { r } = moved;
      const z = await this.#direction(r);
      using _z = z === r ? undefined : z;
      const { norm2, next } = await this.#norms(r, z);
      using _square = norm2;
      using _energy = next === norm2 ? undefined : next;
      const { tolerance } = this.#goal;
      const { most } = this.#numbers;
      const { beta, ...columns } = await map(
        RECURRENCE,
        {
          pap,
          rr: norm2,
          next,
          rz,
          status,
          count,
          norm,
          figure,
          gain,
          total,
          best,
          since,
          tolerance,
        },
        { parameters: { most }, ...IN_FLOAT64 },
      );
      using _beta = beta;
      return await keeping(columns, async () => {
        const direction = await map(DIRECTION, { z, beta, p }, { dtype });
        return { ...moved, p: direction, ...columns };
      });
    });
  };

  readonly check = async (state: CgState): Promise<CgState> => {
    const { x, r, p, ...before } = state;
    using truth = await this.#residual(x);
    const z = await this.#direction(truth);
    using _z = z === truth ? undefined : z;
    const { norm2, next } = await this.#norms(truth, z);
    using _square = norm2;
    using _energy = next === norm2 ? undefined : next;
    const { tolerance } = this.#goal;
    const { restarts, ...columns } = await map(
      CHECK,
      { ...before, norm2, next, tolerance },
      { parameters: this.#numbers, ...IN_FLOAT64 },
    );
    using _restarts = restarts;
    const { dtype } = this.#system.operator;
    return await keeping(columns, async () => {
      const onwards = await map(RESTART, { restarts, truth, z, r, p }, { dtype });
      return { x, ...onwards, ...columns };
    });
  };

  [Symbol.dispose](): void {
    this.#dots[Symbol.dispose]();
    release(this.#goal);
  }
}
