import { map, type Tensor } from '@mercer/tensor';
import { IN_FLOAT64, keeping, release, type State } from './columns.js';
import type { KrylovMethod, KrylovState } from './iterate.js';
import { LEFT, LSMR, LSQR, RESTART_LEFT, RIGHT } from './least-squares-formulas.js';
import type { LinearSystem } from './linear-system.js';

/** The state of both methods, of each column; what either has of its own comes beside, by the names of its formulas. */
export interface LeastSquaresState extends KrylovState {
  /** The left vector of the bidiagonalisation times `beta`, (rows, K), and the right one. */
  readonly t: Tensor;
  readonly v: Tensor;
  readonly alpha: Tensor;
  readonly beta: Tensor;
  /** The norm of `A^T r`. */
  readonly normal: Tensor;
  /** The largest norm of a row of the bidiagonal matrix: at most that of the operator. */
  readonly anorm: Tensor;
}

const METHODS = { lsqr: LSQR, lsmr: LSMR } as const;

/** A residual as `s`, which is `A^T r`, and the squares of both norms. */
interface Truth extends State {
  readonly s: Tensor;
  readonly norm2: Tensor;
  readonly normal2: Tensor;
}

/** LSQR and LSMR, of all columns at once: Golub and Kahan's bidiagonalisation, and what each makes of its numbers. */
export class LeastSquaresMethod implements KrylovMethod<LeastSquaresState> {
  readonly what: keyof typeof METHODS;
  readonly system: LinearSystem;

  constructor(what: keyof typeof METHODS, system: LinearSystem) {
    this.what = what;
    this.system = system;
  }

  readonly start = async (): Promise<LeastSquaresState> => {
    const { x, r: t } = await this.system.first();
    return keeping({ x, t }, () =>
      this.#normal(t, async (truth) => {
        const columns = await this.#decided('BEGIN', truth);
        return keeping(columns, async () => {
          const { s, normal2 } = truth;
          return stateOf(x, t, await this.#moved('VECTORS', { s, normal2 }), columns);
        });
      }),
    );
  };

  readonly step = async (state: LeastSquaresState): Promise<LeastSquaresState> => {
    const { alpha, beta, v } = state;
    const [{ t: left, ...vectors }, before] = parts(state);
    const { operator, dots } = this.system;
    const { dtype } = operator;
    using av = await operator.matvec(v as never);
    const t = await map(LEFT, { av, alpha, t: left as Tensor, beta }, { dtype });
    return await keeping({ t }, async () => {
      using at = await operator.rmatvec(t);
      using tt = await dots.of(t, t);
      using y = await map(RIGHT, { at, tt, v }, { dtype });
      using yy = await dots.of(y, y);
      const all = await this.#decided('ROTATION', { ...before, tt, yy });
      const [columns, passing] = split(all, (name) => name in before);
      try {
        return await keeping(columns, async () => {
          const given = { ...vectors, ...passing, y, alpha: columns['alpha'] as Tensor };
          const { x, ...onwards } = await this.#moved('STEP', given);
          return stateOf(x as Tensor, t, onwards, columns);
        });
      } finally {
        release(passing);
      }
    });
  };

  readonly check = async (state: LeastSquaresState): Promise<LeastSquaresState> => {
    const [{ x, t, ...vectors }, before] = parts(state);
    const { dtype } = this.system.operator;
    using truth = await this.system.residual(x as Tensor);
    return await this.#normal(truth, async (norms) => {
      const all = await this.#decided('CHECK', { ...before, ...norms });
      const [columns, { restarts }] = split(all, (name) => name in before);
      using again = restarts as Tensor;
      return await keeping(columns, async () => {
        const { s, normal2 } = norms;
        const given = { ...vectors, s, normal2, restarts: again };
        const onwards = await this.#moved('RESTART', given);
        return await keeping(onwards, async () => {
          const lefts = { restarts: again, truth, t: t as Tensor };
          const { t: left } = await map(RESTART_LEFT, lefts, { dtype });
          return stateOf(x as Tensor, left, onwards, columns);
        });
      });
    });
  };

  /** Work with `A^T r`. */
  async #normal<T>(r: Tensor, work: (truth: Truth) => Promise<T>): Promise<T> {
    const { operator, dots } = this.system;
    using s = await operator.rmatvec(r as never);
    using norm2 = await dots.of(r, r);
    using normal2 = await dots.of(s, s);
    return await work({ s, norm2, normal2 });
  }

  /** Numbers of columns, by formulas of the method. */
  async #decided(name: 'BEGIN' | 'ROTATION' | 'CHECK', given: State): Promise<State> {
    const { s: _, ...columns } = given;
    const { tolerance, numbers } = this.system;
    const inputs = { ...columns, tolerance };
    return map(METHODS[this.what][name], inputs, { parameters: numbers, ...IN_FLOAT64 });
  }

  /** Vectors, by formulas of the method. */
  async #moved(name: 'VECTORS' | 'STEP' | 'RESTART', given: State): Promise<State> {
    return map(METHODS[this.what][name], given, { dtype: this.system.operator.dtype });
  }
}

const stateOf = (x: Tensor, t: Tensor, vectors: State, columns: State): LeastSquaresState =>
  ({ x, t, ...vectors, ...columns }) as unknown as LeastSquaresState;

/** The vectors of a state, and its numbers. */
const parts = (state: State): readonly [vectors: State, columns: State] =>
  split(state, (name) => state[name]?.rank === 2);

function split(all: State, isFirst: (name: string) => boolean): readonly [State, State] {
  const entries = Object.entries(all);
  return [
    Object.fromEntries(entries.filter(([name]) => isFirst(name))),
    Object.fromEntries(entries.filter(([name]) => !isFirst(name))),
  ];
}
