import { concat, eye, map, zeros, type Tensor } from '@mercer/tensor';
import { IN_FLOAT64, keeping, release, type State } from './columns.js';
import {
  BEGIN,
  CHECK,
  FIRST,
  INVERSE,
  NEXT_VECTOR,
  ORTHOGONAL,
  RIGHT,
  ROTATION,
  ROTATIONS,
} from './gmres-formulas.js';
import type { KrylovMethod, KrylovState } from './iterate.js';
import type { LinearSystem } from './linear-system.js';

/** The state of GMRES, of each column. */
export interface GmresState extends KrylovState {
  /** The orthonormal vectors so far, (count, N, K): how many there are says where the cycle stands. */
  readonly basis: Tensor;
  /** All rotations as one matrix, (restart + 1, restart + 1, K), in float64 as what follows. */
  readonly turned: Tensor;
  /** The inverse of R, (restart, restart, K), and its right-hand side, (restart, K); zeros in what is not reached yet. */
  readonly upper: Tensor;
  readonly right: Tensor;
  readonly phibar: Tensor;
  /** The largest norm of a column of the Hessenberg matrix: at most that of the operator. */
  readonly anorm: Tensor;
}

/**
 * GMRES (Saad and Schultz 1986), restarted, of all columns at once, with a preconditioner on the right: the residual that it makes least is the true one.
 * Vectors are made orthogonal to the basis by Gram and Schmidt's classical rule, twice. x is formed at the end of a cycle.
 */
export class GmresMethod implements KrylovMethod<GmresState> {
  readonly what = 'gmres';
  readonly system: LinearSystem;
  readonly cycle: number;

  constructor(system: LinearSystem, restart: number) {
    this.system = system;
    this.cycle = restart;
  }

  readonly start = async (): Promise<GmresState> => {
    const { x, r } = await this.system.first();
    using truth = r;
    return await keeping({ x }, () => this.#begin(x, truth, BEGIN, {}));
  };

  /** A cycle from a true residual. */
  async #begin(
    x: Tensor,
    truth: Tensor,
    formulas: typeof BEGIN | typeof CHECK,
    before: State,
  ): Promise<GmresState> {
    const { dots, tolerance, numbers, operator, device } = this.system;
    const [n = 0, count = 0] = truth.shape;
    using norm2 = await dots.of(truth, truth);
    const columns = await map(
      formulas,
      { ...before, norm2, tolerance },
      { parameters: numbers, ...IN_FLOAT64 },
    );
    return await keeping(columns, async () => {
      const { status, norm } = columns;
      const first = await map(FIRST, { truth, status, norm }, { dtype: operator.dtype });
      using flat = first;
      const basis = flat.reshape([1, n, count]);
      return await keeping({ basis }, async () => {
        const inFloat64 = { device, ...IN_FLOAT64 };
        const m = this.cycle;
        using identity = await eye(m + 1, inFloat64);
        using square = identity.reshape([m + 1, m + 1, 1]);
        using wide = square.broadcastTo([m + 1, m + 1, count]);
        const turned = await wide.clone();
        const upper = await zeros([m, m, count], inFloat64);
        const right = await zeros([m, count], inFloat64);
        return { x, basis, turned, upper, right, ...columns };
      });
    });
  }

  readonly step = async (state: GmresState): Promise<GmresState> => {
    const { x, basis, turned, upper, right, ...before } = state;
    const { system } = this;
    const { operator, dots, tolerance, numbers } = system;
    const { dtype } = operator;
    const [many = 0, n = 0, count = 0] = basis.shape;
    const parameters = { at: many - 1 };
    using newest = basis.slice(many - 1);
    const z = await system.direction(newest);
    using _z = z === newest ? undefined : z;
    using product = await operator.matvec(z as never);
    using one = await this.#orthogonal(basis, product);
    using two = await this.#orthogonal(basis, one.rest);
    using h = await one.parts.add(two.parts);
    const w = two.rest;
    using ww = await dots.of(w, w);
    using hh = await dots.of(h, h);
    using known = turned.slice(null, [0, many]);
    using t = await known.mul(h).sum(1);
    using last = t.slice(many - 1);
    const { cs, sn, phi, inverse, by, ...columns } = await map(
      ROTATION,
      { ...before, ww, hh, last, tolerance },
      { parameters: numbers, ...IN_FLOAT64 },
    );
    const passing = { cs, sn, phi, inverse, by };
    try {
      return await keeping(columns, async () => {
        using row = turned.slice([many - 1, many]);
        using above = t.slice([0, this.cycle]);
        using short = await upper.mul(above).sum(1);
        using column = short.reshape([this.cycle, 1, count]);
        using next = await map(NEXT_VECTOR, { w, by }, { dtype });
        using onTop = next.reshape([1, n, count]);
        const made: Record<string, Tensor> = {};
        return await keeping(made, async () => {
          const square = { parameters, ...IN_FLOAT64, indices: { i: 0, k: 1 } };
          made['turned'] = await map(ROTATIONS, { turned, row, cs, sn }, square);
          made['upper'] = await map(INVERSE, { upper, column, inverse }, square);
          made['right'] = await map(RIGHT, { right, phi }, { ...square, indices: { i: 0 } });
          made['basis'] = await concat([basis, onTop as typeof basis], 0);
          return { x, ...(made as unknown as Matrices), ...columns };
        });
      });
    } finally {
      release(passing);
    }
  };

  /** A vector without its parts along the basis, and these. */
  async #orthogonal(basis: Tensor, w: Tensor): Promise<Split> {
    const { dots, operator } = this.system;
    const [many = 0, , count = 0] = basis.shape;
    const parts = await dots.of(basis, w, 1);
    return keeping({ parts }, async () => {
      using across = parts.reshape([many, 1, count]);
      using sum = await basis.mul(across).sum(0);
      const rest = await map(ORTHOGONAL, { w, parts: sum }, { dtype: operator.dtype });
      return new Split(parts, rest);
    });
  }

  /** The end of a cycle: x, and the next cycle from its true residual. */
  readonly check = async (state: GmresState): Promise<GmresState> => {
    const { x: from, basis, turned: _turned, upper, right, ...before } = state;
    const x = await this.#reached(from, basis, upper, right);
    return await keeping({ x }, async () => {
      using truth = await this.system.residual(x);
      return await this.#begin(x, truth, CHECK, before);
    });
  };

  async #reached(from: Tensor, basis: Tensor, upper: Tensor, right: Tensor): Promise<Tensor> {
    const { system } = this;
    const [many = 0, , count = 0] = basis.shape;
    if (many === 1) return await from.clone();
    using weights = await upper.mul(right).sum(1);
    using used = weights.slice([0, many - 1]);
    using across = used.reshape([many - 1, 1, count]);
    using vectors = basis.slice([0, many - 1]);
    using sum = await vectors.mul(across).sum(0);
    using step = await sum.cast(system.operator.dtype);
    const z = await system.direction(step);
    using _z = z === step ? undefined : z;
    return await from.add(z);
  }
}

type Matrices = Pick<GmresState, 'basis' | 'turned' | 'upper' | 'right'>;

/** What Gram and Schmidt's rule makes of a vector. */
class Split implements Disposable {
  readonly parts: Tensor;
  readonly rest: Tensor;

  constructor(parts: Tensor, rest: Tensor) {
    this.parts = parts;
    this.rest = rest;
  }

  [Symbol.dispose](): void {
    release({ parts: this.parts, rest: this.rest });
  }
}
