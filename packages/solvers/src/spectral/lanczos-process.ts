import { matmul } from '@mercer/linalg';
import { abs, div, le, max, mul, select, sqrt, variable, type RealExpr } from '@mercer/formula';
import { empty, full, map, stack, type Tensor } from '@mercer/tensor';
import { keeping, release } from '../krylov/columns.js';
import { sizeOf } from '../krylov/size.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import { divided } from './subspace.js';
import { checkFinite, checkSymmetric, unitOf } from '../checks.js';

type Numbers = Tensor<'float64'>;

/** The coefficients of the recurrence `A q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1}`, of one start. */
export interface Recurrence {
  /** alpha, as many as steps were made: fewer than asked for where the space that they span is invariant. */
  readonly diagonal: readonly number[];
  /** beta, as many: the last is what goes beyond the space, 0 where that is invariant. */
  readonly beyond: readonly number[];
}

const v = (name: string): RealExpr => variable(name);
const norm = sqrt(v('square'));
const scale = max(v('scale'), max(abs(v('alpha')), norm));
const ends = le(norm, mul(v('rounding'), scale));

/** What a step makes of the columns. Where nothing but rounding goes beyond the space, the next vector is 0, and with it all that follow. */
const STEP = { scale, beta: select(ends, 0, norm), inverse: select(ends, 0, div(1, norm)) };
const START = {
  norm,
  inverse: select(le(norm, 0), 0, div(1, norm)),
  scale: mul(0, norm),
};

const IN_FLOAT64 = { dtype: 'float64' } as const;

/**
 * Lanczos' recurrence of a symmetric operator from several starts at once, each with a space of its own. Each new vector is made orthogonal to all
 * before it, twice. Nothing is read before `coefficients`.
 */
export class LanczosProcess implements Disposable {
  readonly #what: string;
  #operator: LinearOperator;
  #size = 1;
  readonly #one: Numbers;
  /** Vectors of all steps, (starts, chunk, N) each. */
  readonly #chunks: Tensor[] = [];
  readonly #chunk: number;
  /** Of each step (starts): alpha, beta, and `q_{j-1} . A q_j`. */
  readonly #coefficients: (readonly [alpha: Tensor, beta: Tensor, cross: Tensor])[] = [];
  readonly #starts: Tensor;
  /** The vector of the next step, (starts, N), and the largest coefficient so far, (starts). */
  #next: { readonly q: Tensor; readonly scale: Tensor };
  #before: Tensor | undefined;

  private constructor(
    what: string,
    operator: LinearOperator,
    chunk: number,
    parts: {
      readonly one: Numbers;
      readonly starts: Tensor;
      readonly q: Tensor;
      readonly scale: Tensor;
    },
  ) {
    this.#what = what;
    this.#operator = operator;
    this.#chunk = chunk;
    this.#one = parts.one;
    this.#starts = parts.starts;
    this.#next = { q: parts.q, scale: parts.scale };
  }

  /**
   * @param starts (N, starts)
   * @param chunk steps for which memory is taken at a time
   */
  static async from(
    what: string,
    operator: LinearOperator,
    starts: Tensor,
    chunk: number,
  ): Promise<LanczosProcess> {
    const { device, dtype } = operator;
    const one = await full([], 1, { device, dtype: 'float64' });
    return await keeping({ one }, async () => {
      using turned = starts.transpose();
      using rows = await turned.clone();
      using square = (await rows.mul(one).square().sum(1)) as Tensor;
      const { inverse, ...made } = await map(START, { square }, IN_FLOAT64);
      using _inverse = inverse;
      return await keeping(made, async () => {
        using factor = inverse.reshape([-1, 1]);
        const q = await map(mul(v('w'), v('factor')), { w: rows, factor }, { dtype });
        const { norm: starts, scale: none } = made;
        return new LanczosProcess(what, operator, chunk, { one, starts, q, scale: none });
      });
    });
  }

  /** What the operator is divided by, and so all coefficients: a power of two, 1 of moderate numbers. */
  get size(): number {
    return this.#size;
  }

  /** Steps so far. */
  get steps(): number {
    return this.#coefficients.length;
  }

  /** One more step: a product, and two passes over the vectors so far. */
  async step(): Promise<void> {
    const { dtype, shape } = this.#operator;
    const { q, scale: before } = this.#next;
    const [starts = 0] = q.shape;
    using columns = q.transpose();
    using product = await this.#product(columns);
    using turned = product.transpose();
    using w = await turned.clone();
    using image = w.reshape([starts, shape[0], 1]);
    const alpha = await this.#dots(q, w);
    const cross = await keeping({ alpha }, () => this.#dots(this.#before ?? q, w));
    await keeping({ alpha, cross }, async () => {
      await this.#store(q);
      for (let pass = 0; pass < 2; pass++) await this.#project(image);
      using square = (await w.mul(this.#one).square().sum(1)) as Tensor;
      const rounding = 8 * Math.sqrt(shape[0]) * unitOf(dtype);
      const { inverse, ...made } = await map(
        STEP,
        { scale: before, alpha, square },
        { parameters: { rounding }, ...IN_FLOAT64 },
      );
      using _inverse = inverse;
      await keeping(made, async () => {
        using factor = inverse.reshape([-1, 1]);
        const next = await map(mul(v('w'), v('factor')), { w, factor }, { dtype });
        this.#before?.dispose();
        this.#before = q;
        this.#next = { q: next, scale: made.scale };
        before.dispose();
        this.#coefficients.push([alpha, made.beta, cross]);
      });
    });
  }

  /** The first product says what the operator is divided by, where squares of it could be beyond float64, in which all norms are. */
  async #product(columns: Tensor): Promise<Tensor> {
    const product: Tensor = await this.#operator.matvec(columns as never);
    if (this.steps > 0 || product.dtype !== 'float64') return product;
    this.#size = await sizeOf(product as Numbers);
    if (this.#size === 1) return product;
    using own = product;
    this.#operator = divided(this.#operator, this.#size);
    return await own.mul(1 / this.#size);
  }

  /** Waits for the device, and gives the coefficients of every start. @throws SolverError NOT_FINITE, ASYMMETRIC */
  async coefficients(): Promise<readonly Recurrence[]> {
    const all = [this.#starts, ...this.#coefficients.flat()];
    using table = await stack(all as unknown as readonly [Tensor, ...Tensor[]]);
    const [first = [], ...rows] = await table.toNested<readonly (readonly number[])[]>();
    checkFinite(this.#what, [...first, ...rows.flat()]);
    return first.map((_, at) => this.#recurrence(rows.map((row) => row[at] as number)));
  }

  /** Norms of the starts; waits for the device. */
  async startNorms(): Promise<readonly number[]> {
    return await this.#starts.toNested<readonly number[]>();
  }

  /** The vectors of the first steps from the first start, (N, count): a new tensor. */
  async basis(count: number): Promise<Tensor> {
    const [chunk] = this.#chunks as [Tensor, ...Tensor[]];
    using rows = chunk.slice(0, [0, count]);
    using columns = rows.transpose();
    return await columns.clone();
  }

  #recurrence(numbers: readonly number[]): Recurrence {
    const diagonal: number[] = [];
    const beyond: number[] = [];
    let [most, differs] = [0, 0];
    for (let at = 0; at < numbers.length; at += 3) {
      const [alpha, beta, cross] = numbers.slice(at, at + 3) as [number, number, number];
      const back = beyond.at(-1);
      most = Math.max(most, Math.abs(alpha), beta, Math.abs(back === undefined ? 0 : cross));
      if (back !== undefined) differs = Math.max(differs, Math.abs(cross - back));
      diagonal.push(alpha);
      beyond.push(beta);
      if (beta === 0) break;
    }
    checkSymmetric(this.#what, this.#operator.dtype, differs, most);
    return { diagonal, beyond };
  }

  /** Inner products of rows, in float64. */
  async #dots(a: Tensor, b: Tensor): Promise<Tensor> {
    return await a.mul(this.#one).mul(b).sum(1);
  }

  async #store(q: Tensor): Promise<void> {
    const place = this.steps % this.#chunk;
    if (place === 0) {
      const { dtype, device } = this.#operator;
      const [starts = 0, n = 0] = q.shape;
      this.#chunks.push(empty([starts, this.#chunk, n], { dtype, device }));
    }
    using row = (this.#chunks.at(-1) as Tensor).slice(null, place);
    await row.copyFrom(q);
  }

  /** Takes out of vectors (starts, N, 1), in place, what lies in the space so far. */
  async #project(vectors: Tensor): Promise<void> {
    const last = this.#chunks.length - 1;
    for (const [at, chunk] of this.#chunks.entries()) {
      using filled = chunk.slice(null, [
        0,
        at < last ? this.#chunk : (this.steps % this.#chunk) + 1,
      ]);
      const [q, w] = [filled as Numbers, vectors as Numbers];
      using along = await matmul(q, w);
      await matmul(q, along, { transposeA: true, alpha: -1, beta: 1, out: w });
    }
  }

  [Symbol.dispose](): void {
    this.#one.dispose();
    this.#starts.dispose();
    this.#before?.dispose();
    release(this.#next);
    for (const one of this.#chunks) one.dispose();
    for (const one of this.#coefficients.flat()) one.dispose();
  }
}
