import { describeValue } from '@mercer/options';
import {
  isPending,
  isTensor,
  MercerError,
  zeros,
  type Device,
  type Pending,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import { assertTensor, formatShape, isTraced } from '@mercer/tensor/operation';
import { promised } from '../promised.js';
import { product, scaled, shifted, sum, turned } from './compose.js';
import type {
  Operand,
  OperatorDType,
  OperatorForm,
  OperatorParts,
  OperatorRules,
  RowIndices,
} from './operator-types.js';
import { checkRows, countOf, unitVectors } from './row-indices.js';

/**
 * A matrix known by its products with vectors. Immutable; made by `operator`, `denseOperator`, `asOperator` of a symbolic matrix and the like, and
 * combined by its methods, which compute nothing. It borrows the tensors that it is made of.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[0], [1]], { device: 'cpu' });
 * const kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
 * const shifted = kernel.shift(1);
 * console.log(shifted.shape); // [ 2, 2 ]
 * console.log(await (await shifted.diagonal()).toNested()); // [ 2, 2 ]
 * ```
 */
export class LinearOperator<D extends OperatorDType = OperatorDType>
  implements Operand<D>, Disposable
{
  readonly shape: readonly [rows: number, columns: number];
  readonly dtype: D;
  readonly device: Device;
  /** @internal */
  readonly isCapturable: boolean;
  /** @internal */
  readonly isForeign: boolean;
  /** @internal The tensors that it is made of: what its products are differentiated by. */
  readonly parameters: readonly Tensor[];
  readonly #rules: OperatorRules;
  readonly #owned: readonly Tensor[];

  /** @internal */
  constructor({ form, parameters, rules, owned = [] }: OperatorParts<D>) {
    this.shape = form.shape;
    this.dtype = form.dtype;
    this.device = form.device;
    this.isCapturable = form.isCapturable;
    this.isForeign = form.isForeign ?? false;
    this.parameters = parameters;
    this.#rules = rules;
    this.#owned = owned;
  }

  /**
   * The products with vectors: (columns) gives (rows), and columns (columns, K) give (rows, K).
   *
   * @returns a new tensor
   * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT
   */
  matvec(vectors: TensorOperand<D>): Pending<Tensor<D>> {
    return this.#pending(
      () => this.#product('matvec', vectors, this.#rules.matvec, this.shape),
      vectors,
    );
  }

  /**
   * The products of the transpose with vectors: (rows) gives (columns), and (rows, K) gives (columns, K).
   *
   * @throws MercerError UNSUPPORTED where the operator has no transpose, and as `matvec`
   */
  rmatvec(vectors: TensorOperand<D>): Pending<Tensor<D>> {
    return this.#pending(() => {
      const [rows, columns] = this.shape;
      const rule = this.#rules.rmatvec ?? refuse('rmatvec', 'it was made without rmatvec');
      return this.#product('rmatvec', vectors, rule, [columns, rows]);
    }, vectors);
  }

  /**
   * The diagonal, (N).
   *
   * @throws MercerError UNSUPPORTED where the operator does not know it; SHAPE_MISMATCH where it is not square
   */
  diagonal(): Pending<Tensor<D>> {
    return this.#pending(async () => {
      assertSquare('diagonal', this);
      const rule = this.#rules.diagonal ?? refuse('diagonal', 'it was made without diagonal');
      return await this.#own('diagonal', await rule(this.parameters), [this.shape[0]]);
    });
  }

  /**
   * Some rows, (count, columns). An operator that does not know its rows multiplies its transpose with unit vectors.
   *
   * @param indices whole numbers, which are checked; or an int32 or int64 tensor (count) of them, which is not, since the host does not wait for it: what is no row is
   *   NaN or 0 there
   * @throws MercerError INVALID_ARGUMENT for what is no row; UNSUPPORTED where it has neither rows nor a transpose; SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH
   */
  rows(indices: RowIndices): Pending<Tensor<D>> {
    return this.#pending(async () => {
      const [rows, columns] = this.shape;
      checkRows(indices, rows, this);
      const { rows: rule } = this.#rules;
      const { dtype, device } = this;
      const count = countOf(indices);
      if (count === 0) return await zeros([0, columns], { dtype, device });
      if (rule !== undefined)
        return await this.#own('rows', await rule(indices, this.parameters), [count, columns]);
      using units = await unitVectors(this, rows, indices);
      using found = await this.rmatvec(units);
      using back = found.transpose();
      return await back.clone();
    });
  }

  /** The sum of this and another of its shape. */
  add(other: LinearOperator<D>): LinearOperator<D> {
    return new LinearOperator(sum([this, checkOther('add', this, other)]));
  }

  /** The product of this with another, whose rows are as many as the columns of this. */
  matmul(other: LinearOperator<D>): LinearOperator<D> {
    return new LinearOperator(product(this, checkOther('matmul', this, other)));
  }

  /** This times a number, or times a tensor of rank 0 of its dtype, by which it is differentiated. */
  scale(factor: number | Tensor<D>): LinearOperator<D> {
    return new LinearOperator(scaled(this, checkScalar('scale: the factor', factor, this)));
  }

  /** This plus a multiple of the identity: a number, or a tensor of rank 0 of its dtype, by which it is differentiated. It must be square. */
  shift(by: number | Tensor<D>): LinearOperator<D> {
    assertSquare('shift', this);
    return new LinearOperator(shifted(this, checkScalar('shift: the shift', by, this)));
  }

  /** The transpose. */
  t(): LinearOperator<D> {
    return new LinearOperator(turned(this));
  }

  /** This times its transpose, symmetric and positive semidefinite. */
  gram(): LinearOperator<D> {
    return new LinearOperator(product(this, this.t()));
  }

  /** The matrix, stored: (rows, columns); by the products with all unit vectors, where it knows no better way. */
  dense(): Pending<Tensor<D>> {
    return this.#pending(async () => {
      const { dense } = this.#rules;
      if (dense !== undefined) return (await dense(this.parameters)) as Tensor<D>;
      const [, columns] = this.shape;
      const all = Array.from({ length: columns }, (_, at) => at);
      using units = await unitVectors(this, columns, all);
      return await this.matvec(units);
    });
  }

  /** Whether it knows its diagonal. */
  get hasDiagonal(): boolean {
    return this.#rules.diagonal !== undefined;
  }

  /** Whether it has products with its transpose. */
  get hasTranspose(): boolean {
    return this.#rules.rmatvec !== undefined;
  }

  /** @internal The same operator of other tensors. */
  withParameters(parameters: readonly Tensor[]): LinearOperator<D> {
    return new LinearOperator({ form: this, parameters, rules: this.#rules });
  }

  /** Disposes of the tensors that were made for this operator, not of those that it borrows, nor of what it is composed of. */
  dispose(): void {
    for (const one of this.#owned) one.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** What is computed of its tensors and of what is given. */
  #pending(compute: () => Promise<Tensor<D>>, given?: unknown): Pending<Tensor<D>> {
    return promised([given, ...this.parameters], compute);
  }

  async #product(
    what: string,
    given: TensorOperand<D>,
    rule: NonNullable<OperatorRules['rmatvec']>,
    [rows, columns]: readonly [number, number],
  ): Promise<Tensor<D>> {
    const vectors = isPending(given) ? await given : given;
    this.#checkVectors(what, vectors, columns);
    const isOne = vectors.rank === 1;
    using front = isOne ? vectors.reshape([columns, 1]) : undefined;
    const wide = front ?? vectors;
    const [, count = 0] = wide.shape;
    const { dtype, device } = this;
    if (count === 0) return await zeros([rows, 0], { dtype, device });
    const own = await this.#own(what, await rule(wide, this.parameters), [rows, count], wide);
    if (!isOne) return own;
    using whole = own;
    return whole.reshape([rows]);
  }

  /** What a rule found, which may be a function of the caller's: checked, and a tensor of its own. @throws MercerError */
  async #own(
    what: string,
    found: Tensor,
    shape: readonly number[],
    given?: Tensor,
  ): Promise<Tensor<D>> {
    // results are disposed, and what a function was given is not its own
    const isBorrowed = found === given || this.parameters.includes(found);
    try {
      checkFound(what, found, shape, this);
    } catch (error) {
      if (!isBorrowed && isTensor(found)) found.dispose();
      throw error;
    }
    return (isBorrowed ? await found.clone() : found) as Tensor<D>;
  }

  /** @throws MercerError */
  #checkVectors(what: string, vectors: Tensor, length: number): void {
    if (!isTraced(vectors)) assertTensor(vectors, `${what}: the vectors`);
    const { shape, dtype, device } = vectors;
    if (shape.length === 0 || shape.length > 2 || shape[0] !== length) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: the vectors have shape ${formatShape(shape)}, and the operator ${formatShape(this.shape)}. Pass (${length}), or columns (${length}, K).`,
      );
    }
    if (dtype !== this.dtype) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `${what}: the vectors are ${dtype}, and the operator ${this.dtype}. Cast one of them.`,
      );
    }
    if (device === this.device) return;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: the vectors lie on ${device.id}, and the operator on ${this.device.id}. Move one of them with to().`,
    );
  }
}

/** @throws MercerError UNSUPPORTED */
function refuse(name: string, why: string, what = name): never {
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: the operator has no ${name}: ${why}. Give operator() a function ${name}, or store the matrix with dense().`,
  );
}

/** @throws MercerError SHAPE_MISMATCH */
export function assertSquare(what: string, { shape: [rows, columns] }: LinearOperator): void {
  if (rows === columns) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the operator has ${rows} rows and ${columns} columns. It must be square.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function assertOperator(value: unknown, what: string): asserts value is LinearOperator {
  if (value instanceof LinearOperator) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what} is ${describeValue(value)}. Pass a LinearOperator: denseOperator(a) of a tensor, asOperator() of a symbolic matrix, or operator({ ... }) of functions.`,
  );
}

/** @throws MercerError */
function checkOther<D extends OperatorDType>(
  what: string,
  { shape, dtype, device }: OperatorForm<D>,
  other: LinearOperator<D>,
): LinearOperator<D> {
  assertOperator(other, `${what}: the other operator`);
  const isSame = what === 'add';
  const fits = isSame ? String(other.shape) === String(shape) : other.shape[0] === shape[1];
  if (!fits) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the operators have shapes ${formatShape(shape)} and ${formatShape(other.shape)}. ${isSame ? 'They must be equal' : 'The second must have as many rows as the first has columns'}.`,
    );
  }
  if (other.dtype === dtype && other.device === device) return other;
  throw new MercerError(
    other.dtype === dtype ? 'DEVICE_MISMATCH' : 'DTYPE_MISMATCH',
    `${what}: the operators are ${dtype} on ${device.id} and ${other.dtype} on ${other.device.id}. They must agree.`,
  );
}

/** @throws MercerError UNSUPPORTED */
export function assertTranspose(what: string, { hasTranspose }: LinearOperator): void {
  if (!hasTranspose) refuse('rmatvec', 'it was made without rmatvec', what);
}

/** @throws MercerError */
export function checkScalar<D extends OperatorDType>(
  what: string,
  value: number | Tensor<D>,
  { dtype, device }: OperatorForm<D>,
): number | Tensor<D> {
  if (typeof value === 'number') return value;
  if (!isTraced(value)) assertTensor(value, what);
  if (value.rank === 0 && value.dtype === dtype && value.device === device) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what} is ${value.label}. Pass a number, or a ${dtype} tensor of rank 0 on ${device.id}.`,
  );
}

/** What a rule found must fit, since a function of the caller may have made it. @throws MercerError */
function checkFound(
  what: string,
  found: Tensor,
  shape: readonly number[],
  { dtype, device }: LinearOperator,
): void {
  if (!isTraced(found)) assertTensor(found, `${what}: what the operator gave`);
  const isRight = String(found.shape) === String(shape);
  if (isRight && found.dtype === dtype && found.device === device) return;
  throw new MercerError(
    isRight ? 'DTYPE_MISMATCH' : 'SHAPE_MISMATCH',
    `${what}: the operator gave ${found.dtype} ${formatShape(found.shape)} on ${found.device.id}. It must give ${dtype} ${formatShape(shape)} on ${device.id}.`,
  );
}
