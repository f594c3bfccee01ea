import { emitRowsGradient, planRowsGradient, type PairwiseDType } from '@mercer/kernels';
import { inputsOf, reduction, variable, variables, type VectorExpr } from '@mercer/formula';
import { isTensor, rowMajorStrides, type Tensor } from '@mercer/tensor';
import {
  addReductions,
  addSumTo,
  pairOperand,
  pointerAt,
  sizeOfShape,
  type CallSteps,
  type CallView,
  type PairInput,
  type PairSizes,
} from '@mercer/tensor/operation';
import {
  ofBothRoles,
  ofParameters,
  ofRows,
  OPERANDS,
  type GradientFormula,
  type PairRules,
} from './backward-formulas.js';
import type { BackwardSpec, BackwardVariable } from './backward-spec.js';
import type { CallInputs } from './call-inputs.js';
import { parameterBatch } from './kernel-parameter.js';
import { launchValues, readableValue } from './launch-values.js';
import { freshOperand, inputOperand, type PairwiseShape } from './operands.js';
import { addPairwise } from './pairwise-operation.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import { boundScale, preparedRows, type BoundRows, type BoundScale } from './prepared-rows.js';

/** Rows as the reductions read them, and as they were before they were prepared. */
interface Rows {
  readonly input: PairInput;
  readonly plain: BoundRows | undefined;
  /** As a pairwise kernel reads them, where they were prepared. */
  readonly matrix: BoundRows | undefined;
  readonly count: number;
}

/** How the launches of a call are chosen. */
interface BackwardForm {
  /** Whether the reductions of the inner expression are stored for the gradients to read. */
  readonly stored: boolean;
  /** Whether later calls launch the same kernels. */
  readonly isPrepared: boolean;
}

/** Writes down the launches of a backward call. */
export class BackwardSteps {
  readonly #spec: BackwardSpec;
  readonly #inputs: CallInputs;
  readonly #steps: CallSteps;
  readonly #shape: PairwiseShape;
  readonly #gradient: Tensor;
  readonly #isStored: boolean;
  readonly #isPrepared: boolean;
  readonly #values = new Map<string | number, PairInput>();
  /** The formulas whose sums are taken. */
  readonly formulas: VectorExpr[] = [];
  #given: PairInput | undefined;
  #sum: PairInput | undefined;
  #scale: BoundScale | undefined;

  constructor(
    spec: BackwardSpec,
    inputs: CallInputs,
    shape: PairwiseShape,
    gradient: Tensor,
    { stored, isPrepared }: BackwardForm,
  ) {
    this.#isStored = stored;
    this.#isPrepared = isPrepared;
    this.#spec = spec;
    this.#inputs = inputs;
    this.#steps = inputs.steps;
    this.#shape = shape;
    this.#gradient = gradient;
  }

  /** Everything that is to be written to the results, which are in the order of `wrt`. */
  add(a: Tensor, b: Tensor | undefined, results: readonly CallView[]): void {
    const { wrt, forward } = this.#spec;
    const x = this.#rows('a', a);
    const y = b === undefined || b === a ? x : this.#rows('b', b);
    const of = (kind: BackwardVariable['kind']): CallView | undefined =>
      results[wrt.findIndex((one) => one.kind === kind)];
    const [toA, toB, toScale] = [of('a'), of('b'), of('scale')];
    const scales: CallView[] = [];
    for (const [role, to] of [
      ['a', toA],
      ['b', toB],
    ] as const) {
      const isMissing = role === 'b' && b === undefined;
      if (isMissing || (to === undefined && toScale === undefined)) continue;
      const own = role === 'a' ? x : y;
      const prepared = forward.rows !== undefined;
      const whole = this.#rowsGradient(
        role,
        x,
        b === undefined ? undefined : y,
        prepared ? undefined : to,
      );
      if (!prepared) continue;
      if (to !== undefined) addSumTo(this.#steps, this.#unprepared('x', own, whole), to.shape, to);
      if (toScale !== undefined) scales.push(this.#unprepared('scale', own, whole));
    }
    if (toScale !== undefined) this.#addScales(scales, toScale);
    this.#addParameters(x, y, results);
    for (const [at, { kind }] of wrt.entries()) {
      const to = results[at]!;
      if (kind === 'none') this.#steps.fill(to, 0n);
      if (kind === 'regularization') this.#addDiagonal(to);
    }
  }

  get #rules(): PairRules {
    const { forward } = this.#spec;
    const { diagonal } = forward;
    return {
      masked: diagonal?.mode === 'set' ? diagonal.offset : undefined,
      stored: this.#isStored,
    };
  }

  #sizes(rowsI: number, rowsJ: number): PairSizes {
    const { dtype, batchShape, batch } = this.#shape;
    return { dtype, rowsI, rowsJ, batchShape, batch };
  }

  #rows(name: 'a' | 'b', x: Tensor): Rows {
    const { rows } = this.#spec.forward;
    const shape = this.#shape;
    const { batchShape, k } = shape;
    const count = name === 'a' ? shape.m : shape.n;
    if (rows === undefined) {
      const sizes = this.#sizes(count, count);
      const input = this.#inputs.readable(name, x, (one) => pairOperand(one, sizes), batchShape);
      return { input, plain: undefined, matrix: undefined, count };
    }
    this.#scale ??= boundScale(this.#inputs, this.#spec.forward, shape);
    const plain = this.#inputs.readable(name, x, (one) => inputOperand(one, shape), batchShape);
    const matrix = preparedRows(this.#inputs, name, rows, this.#scale, shape, plain);
    const { view, operand } = matrix;
    const { leadingStride, batchStride } = operand;
    return {
      input: {
        view: { ...view, shape: [...view.shape.slice(0, -1), k] },
        operand: { rowStride: leadingStride, columnStride: undefined, batchStride },
      },
      plain,
      matrix,
      count,
    };
  }

  /** The inputs of a formula whose rows i are those of one role. */
  #inputsOf(x: Rows, y: Rows, role: 'a' | 'b'): (place: number) => PairInput {
    const [kept, other] = role === 'a' ? [x, y] : [y, x];
    return (place) => {
      const isTurned =
        (place === OPERANDS.transposed || place === OPERANDS.sumTransposed) === (role === 'a');
      if (place === OPERANDS.a) return kept.input;
      if (place === OPERANDS.b) return other.input;
      const isSum = place === OPERANDS.sum || place === OPERANDS.sumTransposed;
      const pairs = isSum
        ? (this.#sum ??= this.#storedSum(x, y))
        : (this.#given ??= this.#readableUpstream());
      return isTurned ? turned(pairs) : pairs;
    };
  }

  /** The reduction of the inner expression at pairs (i, j), which a launch of its own stores. */
  #storedSum(x: Rows, y: Rows): PairInput {
    const { forward } = this.#spec;
    const { dtype, m, n, batchShape, outShape } = this.#shape;
    const { inner, reduce } = forward.expressions;
    const names = variables(inner);
    const spec: PairwiseSpec = {
      ...forward,
      expressions: { inner, outer: variable('s'), reduce },
      parameters: forward.parameters.filter(({ name }) => names.includes(name)),
      diagonal: undefined,
      rows: undefined,
    };
    const view = this.#steps.scratchMemory({ shape: outShape, dtype });
    const target = { view, operand: freshOperand(this.#shape, 'row') };
    const a = this.#matrix(x);
    const rows = [a, x === y ? a : this.#matrix(y), target] as const;
    const values = launchValues(spec, this.#inputs, this.#shape);
    const isPrepared = this.#isPrepared;
    // of a prepared call there is one kernel where all are aligned, and one for all other operands
    const align = forward.align && (!isPrepared || rows.every(({ operand }) => operand.aligned));
    addPairwise(this.#steps, { ...spec, align }, this.#shape, rows, values, {
      isPrepared,
      // each call plans anew, and has the kernels of its example
      products: !isPrepared,
    });
    return {
      view: { ...view, shape: [...batchShape, m, n, 1], strides: [...view.strides, 1] },
      operand: { rowStride: n, columnStride: 1, batchStride: m * n },
    };
  }

  /** dL/d(result) as values of pairs (i, j). */
  #readableUpstream(): PairInput {
    const { m, n, batchShape } = this.#shape;
    const flat = this.#inputs.view(this.#gradient);
    const one = { ...flat, shape: [...flat.shape, 1], strides: [...flat.strides, 1] };
    const sizes = this.#sizes(m, n);
    return this.#steps.readable(
      one,
      (layout) => pairOperand(layout, sizes, 3),
      batchShape,
      undefined,
      3,
    );
  }

  /** Rows as a pairwise kernel reads them. */
  #matrix({ input, matrix }: Rows): BoundRows {
    const shape = this.#shape;
    if (matrix !== undefined) return matrix;
    return this.#steps.readable(input.view, (one) => inputOperand(one, shape), shape.batchShape);
  }

  /** A number, or a parameter of the expressions by its name, as an input that follows neither side. */
  #value(value: string | number): PairInput {
    let bound = this.#values.get(value);
    if (bound === undefined) this.#values.set(value, (bound = this.#boundValue(value)));
    return bound;
  }

  #boundValue(given: string | number): PairInput {
    const { dtype, batchShape } = this.#shape;
    const input = (view: CallView, batchStride: number): PairInput => ({
      view: { ...view, shape: [1, 1], strides: [1, 1] },
      operand: { rowStride: 1, columnStride: undefined, batchStride },
    });
    if (typeof given === 'number') return input(this.#steps.number(given, dtype), 0);
    const { forward, open } = this.#spec;
    const named = [...forward.parameters, ...open.parameters].find(({ name }) => name === given);
    const value = named?.value;
    if (!isTensor(value)) throw new Error(`'${given}' is no parameter in memory`);
    const { view, stride } = readableValue(
      this.#inputs,
      named?.label ?? given,
      value,
      batchShape,
      0,
    );
    return input(view, stride);
  }

  /** The gradient of the rows of one role, as they were prepared, over the whole batch; summed to `to` where that is given. */
  #rowsGradient(role: 'a' | 'b', x: Rows, y: Rows | undefined, to: CallView | undefined): CallView {
    const { dtype, m, n, k, batchShape } = this.#shape;
    const { forward } = this.#spec;
    const kept = role === 'a' ? x : (y ?? x);
    const sizes = role === 'a' ? this.#sizes(m, n) : this.#sizes(n, m);
    const whole = [...batchShape, kept.count, k];
    const isWhole = to !== undefined && sizeOfShape(to.shape) === sizeOfShape(whole);
    const out = isWhole
      ? { ...to, shape: whole, strides: rowMajorStrides(whole) }
      : this.#steps.scratchMemory({ shape: whole, dtype });
    if (sizeOfShape(whole) > 0) {
      const formula =
        y === undefined
          ? ofBothRoles(forward, dtype, k, this.#rules)
          : ofRows(forward, dtype, k, role, this.#rules);
      this.#reduce(formula, sizes, this.#inputsOf(x, y ?? x, role), [out]);
    }
    if (to !== undefined && !isWhole) addSumTo(this.#steps, out, to.shape, to);
    return out;
  }

  /** Sums of formulas over the rows j, each to a row-major view. */
  #reduce(
    { formulas, values }: GradientFormula,
    sizes: PairSizes,
    inputAt: (place: number) => PairInput,
    to: readonly CallView[],
    accumulate?: PairwiseDType,
  ): void {
    const [first, ...further] = formulas.map((formula) => reduction('Sum', formula));
    if (first === undefined) return;
    this.formulas.push(...formulas);
    const places: (PairInput | undefined)[] = [];
    for (const { position } of inputsOf(...formulas)) {
      const value = values[position - OPERANDS.values];
      places[position] = value === undefined ? inputAt(position) : this.#value(value);
    }
    addReductions(this.#steps, {
      what: this.#inputs.what,
      reductions: [first, ...further],
      sizes,
      inputs: Array.from(places),
      results: to.map((value) => ({ value, index: undefined })),
      reductionOf: [],
      accumulate,
      sumScheme: undefined,
      stream: undefined,
      ranges: undefined,
      refused: (error) => error,
    });
  }

  /** From the gradient of prepared rows that of the rows themselves, or what each element contributes to that of its scale. */
  #unprepared(target: 'x' | 'scale', { plain, count }: Rows, upstream: CallView): CallView {
    const { dtype, k, batch, batchShape, device } = this.#shape;
    const rows = this.#spec.forward.rows!;
    const { view, operand } = plain!;
    const out = this.#steps.scratchMemory({ shape: [...batchShape, count, k], dtype });
    if (sizeOfShape(out.shape) === 0) return out;
    const plan = planRowsGradient({ dtype, normalise: rows.normalise, target }, device.limits);
    const { pointer, scalars } = this.#scale!;
    const { layout, leadingStride, batchStride } = operand;
    this.#steps.addPlan(JSON.stringify(plan), plan, emitRowsGradient, {
      values: count * k * batch,
      pointers: {
        x: pointerAt(view),
        dy: pointerAt(upstream),
        out: pointerAt(out),
        scaleAt: pointer,
      },
      scalars: {
        m: count,
        k,
        batch,
        rowStrideX: layout === 'row' ? leadingStride : 1,
        stepStrideX: layout === 'row' ? 1 : leadingStride,
        batchStrideX: batchStride,
        ...scalars,
      },
    });
    return out;
  }

  /** The gradient of the scale: sums over rows and batch entries, of both roles. */
  #addScales(contributions: readonly CallView[], to: CallView): void {
    const { dtype } = this.#shape;
    const [lead, features] = [to.shape.slice(0, -1), to.shape.at(-1) ?? 1];
    // One axis for the rows, which scale does not have, in front of the features.
    const target = [...parameterBatch(lead), 1, features];
    const parts = this.#steps.scratchMemory({ shape: [contributions.length, ...target], dtype });
    const size = sizeOfShape(target);
    for (const [at, each] of contributions.entries()) {
      addSumTo(this.#steps, each, target, { ...parts, offset: at * size });
    }
    addSumTo(this.#steps, parts, target, to);
  }

  /** The gradients of the parameters of the expressions: over the pairs of each row in double precision, then over rows and batch entries. */
  #addParameters(x: Rows, y: Rows, results: readonly CallView[]): void {
    const { open, wrt, forward } = this.#spec;
    const { dtype, m, n, k, batchShape } = this.#shape;
    const wanted = wrt.flatMap(({ kind, name }, at) =>
      kind === 'parameter' && name !== undefined ? [{ name, to: results[at]! }] : [],
    );
    if (wanted.length === 0) return;
    const whole = [...batchShape, m, 1];
    const sums = wanted.map(() => this.#steps.scratchMemory({ shape: whole, dtype }));
    if (sizeOfShape(whole) > 0) {
      const names = wanted.map(({ name }) => name);
      const formula = ofParameters({ ...open, p: forward.p }, names, dtype, k, this.#rules);
      const accumulate = dtype === 'float32' ? 'float64' : undefined;
      this.#reduce(formula, this.#sizes(m, n), this.#inputsOf(x, y, 'a'), sums, accumulate);
    }
    for (const [at, { to }] of wanted.entries()) {
      const target = [...parameterBatch(to.shape), 1, 1];
      addSumTo(this.#steps, sums[at]!, target, to);
    }
  }

  /** The sum of the upstream gradient over the elements with n = m + offset. */
  #addDiagonal(to: CallView): void {
    const { dtype, m, n, batchShape } = this.#shape;
    const { offset } = this.#spec.forward.diagonal!;
    const [row, column] = [Math.max(0, -offset), Math.max(0, offset)];
    const count = Math.max(0, Math.min(m - row, n - column));
    const view = this.#inputs.view(this.#gradient);
    const [rowStride = 0, columnStride = 0] = view.strides.slice(-2);
    const shape = [...batchShape, count];
    const packed = this.#steps.scratchMemory({ shape, dtype });
    const first = count === 0 ? 0 : row * rowStride + column * columnStride;
    const diagonal = {
      ...view,
      shape,
      strides: [...view.strides.slice(0, -2), rowStride + columnStride],
      offset: view.offset + first,
    };
    this.#steps.copy(diagonal, packed);
    const target = [...parameterBatch(to.shape), 1];
    addSumTo(this.#steps, packed, target, to);
  }
}

/** Values of pairs with the rows of both sides exchanged. */
function turned({ view, operand }: PairInput): PairInput {
  const { rowStride, columnStride = 0, batchStride } = operand;
  return { view, operand: { rowStride: columnStride, columnStride: rowStride, batchStride } };
}
