import { div, mul } from '@mercer/formula';
import { map, zeros, type Device, type Tensor } from '@mercer/tensor';
import { unitOf } from '../checks.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { Dots, IN_FLOAT64, keeping, release, type State } from './columns.js';
import { GOAL, RIGHT_HAND_SIDE, v } from './decisions.js';
import { sizeOf } from './size.js';

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

const IN_UNITS = mul(div(v('x'), v('unit')), v('size'));
const RESTORED = mul(div(v('x'), v('size')), v('unit'));

/** What a product of the operator with moderate vectors says of its size. */
async function operatorSize(operator: LinearOperator, b: Tensor): Promise<number> {
  if (b.size === 0) return 1;
  const [rows, columns] = operator.shape;
  const isSquare = rows === columns;
  using product = await (isSquare ? operator.matvec(b as never) : operator.rmatvec(b as never));
  return await sizeOf(product);
}

/** Squares of norms of residuals, and `r . P r`; the same tensor where there is no preconditioner. */
export interface Norms {
  readonly norm2: Tensor;
  readonly next: Tensor;
}

/**
 * What all methods know of the system that they solve: its products, and how far a residual is from being small enough. Right-hand sides whose numbers are very large or small are
 * divided by the largest of them, so that no square overflows or underflows, and so is the operator where the method asks for that; `restored` gives the x of the system as it was given.
 */
export class LinearSystem implements Disposable {
  readonly dots: Dots;
  /** Norms of the right-hand sides, and where their residuals are small enough, (K). */
  readonly scale: Tensor;
  readonly tolerance: Tensor;
  /** What the right-hand sides were divided by, (K). */
  readonly unit: Tensor;
  readonly operator: LinearOperator;
  readonly device: Device;
  readonly isCapturable: boolean;
  /** The unit of rounding, what a residual may be, and the most iterations. */
  readonly numbers: { readonly unit: number; readonly rtol: number; readonly most: number };
  readonly #parts: SystemParts;
  /** What the operator was divided by. */
  readonly #size: number;

  private constructor(
    parts: SystemParts,
    dots: Dots,
    { scale, tolerance, unit }: Record<'scale' | 'tolerance' | 'unit', Tensor>,
    size: number,
  ) {
    const { operator, preconditioner, rtol, maxIterations } = parts;
    this.operator = operator;
    this.device = operator.device;
    this.isCapturable = operator.isCapturable && preconditioner?.isCapturable !== false;
    this.dots = dots;
    this.scale = scale;
    this.tolerance = tolerance;
    this.numbers = { unit: unitOf(operator.dtype), rtol, most: maxIterations };
    this.unit = unit;
    this.#size = size;
    this.#parts = parts;
  }

  /** @param squaresOf dtypes of operators whose squares the method computes with */
  static async of(
    parts: SystemParts,
    squaresOf: readonly OperatorDType[] = [],
  ): Promise<LinearSystem> {
    // as they are now, whatever is written to them before the work is done
    const [copy, startCopy] = [parts.b.clone(), parts.x0?.clone()];
    const { operator, rtol, atol } = parts;
    const { dtype } = operator;
    using given = await copy;
    using startGiven = await startCopy;
    const dots = await Dots.on(given.device);
    const made: State[] = [];
    try {
      using most = await given.abs().max(0);
      const b = await map(RIGHT_HAND_SIDE, { b: given, most }, { dtype });
      made.push({ b });
      using bb = await dots.of(b, b);
      const goal = await map(GOAL, { bb, most }, { parameters: { rtol, atol }, ...IN_FLOAT64 });
      made.push(goal);
      const { unit } = goal;
      const size = squaresOf.includes(dtype) ? await operatorSize(operator, b) : 1;
      const x0 =
        startGiven &&
        (await map(IN_UNITS, { x: startGiven, unit }, { dtype, parameters: { size } }));
      if (x0 !== undefined) made.push({ x0 });
      const scaled = size === 1 ? operator : operator.scale(1 / size);
      return new LinearSystem({ ...parts, operator: scaled, b, x0 }, dots, goal, size);
    } catch (error) {
      dots[Symbol.dispose]();
      for (const one of made) release(one);
      throw error;
    }
  }

  /** The x of the system as it was given: a new tensor. */
  async restored(x: Tensor): Promise<Tensor> {
    const parameters = { size: this.#size };
    return await map(RESTORED, { x, unit: this.unit }, { parameters, dtype: this.operator.dtype });
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
    const { b, x0 } = this.#parts;
    release({ scale: this.scale, tolerance: this.tolerance, unit: this.unit, b });
    x0?.dispose();
  }
}
