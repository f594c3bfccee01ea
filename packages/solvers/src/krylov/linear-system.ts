import { map, zeros, type Device, type Tensor } from '@mercer/tensor';
import { unitOf } from '../checks.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import { Dots, IN_FLOAT64, keeping, release } from './columns.js';
import { GOAL } from './decisions.js';

/** A system with its numbers. */
export interface SystemParts {
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

/** Squares of norms of residuals, and `r . P r`; the same tensor where there is no preconditioner. */
export interface Norms {
  readonly norm2: Tensor;
  readonly next: Tensor;
}

/** What all methods know of the system that they solve: its products, and how far a residual is from being small enough. */
export class LinearSystem implements Disposable {
  readonly dots: Dots;
  /** Norms of the right-hand sides, and where their residuals are small enough, (K). */
  readonly scale: Tensor;
  readonly tolerance: Tensor;
  readonly operator: LinearOperator;
  readonly device: Device;
  readonly isCapturable: boolean;
  /** The unit of rounding, what a residual may be, and the most iterations. */
  readonly numbers: { readonly unit: number; readonly rtol: number; readonly most: number };
  readonly #parts: SystemParts;

  private constructor(
    parts: SystemParts,
    dots: Dots,
    { scale, tolerance }: { readonly scale: Tensor; readonly tolerance: Tensor },
  ) {
    const { operator, preconditioner, rtol, maxIterations } = parts;
    this.operator = operator;
    this.device = operator.device;
    this.isCapturable = operator.isCapturable && preconditioner?.isCapturable !== false;
    this.dots = dots;
    this.scale = scale;
    this.tolerance = tolerance;
    this.numbers = { unit: unitOf(operator.dtype), rtol, most: maxIterations };
    this.#parts = parts;
  }

  static async of(parts: SystemParts): Promise<LinearSystem> {
    const { b, rtol, atol } = parts;
    const dots = await Dots.on(b.device);
    using bb = await dots.of(b, b);
    return new LinearSystem(
      parts,
      dots,
      await map(GOAL, { bb }, { parameters: { rtol, atol }, ...IN_FLOAT64 }),
    );
  }

  /** x and its residual. A right-hand side of zeros has the solution 0, whatever x0 is. */
  async first(): Promise<{ readonly x: Tensor; readonly r: Tensor }> {
    const { b, x0 } = this.#parts;
    const x = await this.#begin();
    return keeping({ x }, async () => ({
      x,
      r: x0 === undefined ? await b.clone() : await this.residual(x),
    }));
  }

  async #begin(): Promise<Tensor> {
    const { b, x0, operator } = this.#parts;
    if (x0 !== undefined) return await this.scale.eq(0).where(0, x0);
    const [, columns = 0] = b.shape;
    const { dtype, device, shape } = operator;
    return zeros([shape[1], columns], { dtype, device });
  }

  async residual(x: Tensor): Promise<Tensor> {
    const { operator, b } = this.#parts;
    using product = await operator.matvec(x as never);
    return await b.sub(product);
  }

  /** A preconditioned residual; the residual itself where there is no preconditioner. */
  async direction(r: Tensor): Promise<Tensor> {
    const { preconditioner } = this.#parts;
    return preconditioner === undefined ? r : preconditioner.matvec(r as never);
  }

  /** Work with the preconditioned residual, and with `r . r` and `r . z` of both. */
  async preconditioned<T>(r: Tensor, work: (z: Tensor, norms: Norms) => Promise<T>): Promise<T> {
    const z = await this.direction(r);
    using _z = z === r ? undefined : z;
    using norm2 = await this.dots.of(r, r);
    if (z === r) return await work(z, { norm2, next: norm2 });
    using next = await this.dots.of(r, z);
    return await work(z, { norm2, next });
  }

  [Symbol.dispose](): void {
    this.dots[Symbol.dispose]();
    release({ scale: this.scale, tolerance: this.tolerance });
  }
}
