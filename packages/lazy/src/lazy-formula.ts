import { reduction, type VectorExpr } from '@mercer/formula';
import { describeValue, INSPECT } from '@mercer/options';
import type { Device, Pending, Tensor } from '@mercer/tensor';
import { formatShape, localHandle, pendingCall } from '@mercer/tensor/operation';
import { DENSE_OPTIONS, readOptions } from './call-options.js';
import { checkRowNumbers } from './check-row-numbers.js';
import { commonExtent, type Extent } from './extent.js';
import { describeInput, type Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import type { DenseOptions, OutDType, OutDTypeOption } from './reduction-types.js';
import { computed } from './reductions.js';
import { rowRange, type RowSelection } from './row-range.js';
import { combine, inputNames, printSymbolic, type Part, type Symbolic } from './symbolic.js';
import { mapped } from './traced-inputs.js';
import { checkBound, diagonal, rowsAsBatch, someRows, transposed } from './transforms.js';

const HANDLE = localHandle(
  'a symbolic matrix',
  'Send the formula as text and the data as typed arrays, and call genred or lazyI there.',
);

/** What the compiler names where a tensor is passed as it is: lazyI, lazyJ or param makes it symbolic. No value has this type. */
interface TensorNeedsLazyIOrLazyJ extends Tensor {
  readonly useLazyIOrLazyJ: never;
}

/** What operations take: a symbolic matrix, or a number, which becomes part of the formula and so of the kernel. */
export type LazyOperand = LazyFormula | number | TensorNeedsLazyIOrLazyJ;

/** A formula of rows i and j with its inputs: what all symbolic matrices share. Immutable. */
export abstract class LazyFormula<D extends LazyDType = LazyDType> implements Symbolic {
  private readonly handle = HANDLE;
  /** The formula; input number p of it is `inputs[p]`. */
  readonly formula: VectorExpr;
  readonly inputs: readonly Input[];
  readonly #extent: Extent;

  /** @internal Use `lazyI`, `lazyJ`, `param` or `lazy`. */
  constructor(what: string, { formula, inputs }: Symbolic, from?: LazyFormula) {
    this.formula = formula;
    this.inputs = Object.isFrozen(inputs) ? inputs : Object.freeze([...inputs]);
    // What is made of a formula mostly has its list, which was checked.
    this.#extent = from?.inputs === inputs ? from.#extent : commonExtent(what, this.inputs);
  }

  /** Whether a component is a number, or two are a complex number. */
  abstract readonly field: 'real' | 'complex';

  /** The same kind of matrix for another formula. */
  protected abstract derive(what: string, of: Symbolic): this;

  /** How many components the value at a pair of rows has. */
  get dim(): number {
    return this.formula.dim;
  }

  /** Rows of i; undefined where no input tells. */
  get rowsI(): number | undefined {
    return this.#extent.rowsI;
  }

  /** Rows of j; undefined where no input tells. */
  get rowsJ(): number | undefined {
    return this.#extent.rowsJ;
  }

  /** The batch axes of all inputs, broadcast. */
  get batchShape(): readonly number[] {
    return this.#extent.batchShape;
  }

  /** (..batch, rows of i, rows of j, dim); a side that no input follows has extent 1. */
  get shape(): readonly number[] {
    return [...this.batchShape, this.rowsI ?? 1, this.rowsJ ?? 1, this.dim];
  }

  /** The dtype of the inputs; undefined where none has one of its own. */
  get dtype(): D | undefined {
    return this.#extent.dtype as D | undefined;
  }

  /** The device of the inputs; undefined where none is on one yet. */
  get device(): Device | undefined {
    return this.#extent.device;
  }

  /** i and j exchanged. Of complex numbers: not conjugated. */
  t(): this {
    return this.derive('t', transposed(this));
  }

  /** Some rows of i, as a view: row numbers inside the formula stay those of the whole. */
  rows(selection: RowSelection): this {
    checkBound('rows', this.inputs);
    const range = rowRange('rows', selection, this.rowsI ?? 1);
    return this.derive('rows', someRows('rows', this, range));
  }

  /**
   * All numbers, stored: (..batch, M, N, dim).
   *
   * @throws LazyError where an input is a placeholder, or no input tells the number of rows
   */
  toDense<O extends OutDType = D>(
    options?: DenseOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    return pendingCall((): Tensor<O> | Promise<Tensor<O>> => {
      checkBound('toDense', this.inputs);
      const given = readOptions('toDense', options, DENSE_OPTIONS);
      checkRowNumbers('toDense', [this.formula], this);
      return valuesOf('toDense', rowsAsBatch('toDense', this, this.rowsI ?? 1), 0, given);
    });
  }

  /**
   * The numbers at equal rows, (..batch, M, dim).
   *
   * @throws LazyError where M and N differ, and as `toDense`
   */
  diag<O extends OutDType = D>(
    options?: DenseOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    return pendingCall((): Tensor<O> | Promise<Tensor<O>> => {
      checkBound('diag', this.inputs);
      const given = readOptions('diag', options, DENSE_OPTIONS);
      const { rowsI = 1, rowsJ = 1 } = this;
      if (rowsI !== rowsJ) {
        throw new LazyError(
          'INVALID_ARGUMENT',
          `diag: there are ${rowsI} rows of i and ${rowsJ} of j. A diagonal needs as many of both; take rows first.`,
        );
      }
      return valuesOf('diag', diagonal(this), 1, given);
    });
  }

  /** The formula, shapes, dtype and device; never the numbers, which would have to be read back. */
  toString(): string {
    const names = [...inputNames(this.inputs).keys()];
    const inputs = this.inputs.map((one, at) => describeInput({ ...one, name: names[at] }));
    const where = [this.dtype, this.device && `on ${this.device.id}`].filter(
      (part) => part !== undefined,
    );
    const head = `${printSymbolic(this)}, shape ${formatShape(this.shape)}`;
    return `${this.constructor.name}(${[[head, ...where].join(' '), ...inputs].join('; ')})`;
  }

  [INSPECT](): string {
    return this.toString();
  }
}

/** The values of a formula itself: sums over a side that has one row. */
function valuesOf<O extends OutDType>(
  what: string,
  { formula, inputs }: Symbolic,
  axis: 0 | 1,
  options: DenseOptions<Tensor<O>>,
): Tensor<O> | Promise<Tensor<O>> {
  const sums = [reduction('Sum', formula, { axis })] as const;
  const task = { what, reductions: sums, inputs, names: undefined };
  return mapped(computed(task, [], options), ([found]) => found?.value as Tensor<O>);
}

/**
 * What the methods of an interface do: each takes its own name and the matrix before the arguments, and gives a formula, or the
 * promise of a result.
 */
export type Rules<T> = { readonly [M in keyof T]: Rule<T[M]> };

type Rule<Method> = Method extends (...args: infer A extends readonly unknown[]) => infer R
  ? (what: string, x: LazyFormula, ...args: A) => R extends Promise<unknown> ? R : Symbolic
  : never;

/** `build` of a matrix and of operands as a caller gave them, over all their inputs. @throws LazyError */
export function combined(
  what: string,
  x: LazyFormula,
  operands: readonly unknown[],
  build: (...formulas: readonly VectorExpr[]) => VectorExpr,
): Symbolic {
  const parts: Part[] = [x];
  for (const operand of operands) {
    parts.push(
      isOperand(operand, x.field)
        ? operand
        : checkOperand(`${what}: operand ${parts.length}`, operand, x.field),
    );
  }
  return combine(what, parts, build);
}

const isOperand = (operand: unknown, field: string): operand is Part =>
  typeof operand === 'number' || (operand instanceof LazyFormula && operand.field === field);

/** A number, or a symbolic matrix over the same field. @throws LazyError INVALID_ARGUMENT */
export function checkOperand(place: string, operand: unknown, field: string): Part {
  if (isOperand(operand, field)) return operand;
  if (!(operand instanceof LazyFormula)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${place} is ${describeValue(operand)}. ` +
        'Pass a number or a symbolic matrix: lazyI(x) for rows of i, lazyJ(x) for rows of j, param(x) for one vector.',
    );
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${place} is ${operand.field} and the other is ${field}. ` +
      'Make a complex matrix with complexOf(pairs) or realToComplex(x), and a real one with real(), imag(), abs() or pairs().',
  );
}

/** @throws LazyError NOT_DIFFERENTIABLE */
export function checkVariable(what: string, variable: LazyFormula): void {
  const given: unknown = variable;
  if (typeof given === 'object' && given !== null && 'formula' in given) {
    if (variable.formula.kind === 'variable') return;
    throw new LazyError(
      'NOT_DIFFERENTIABLE',
      `${what}: ${String(variable)} is no variable but a formula. Differentiate by what lazyI, lazyJ or param made.`,
    );
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the variable is ${describeValue(given)}. Pass what lazyI, lazyJ or param made.`,
  );
}
