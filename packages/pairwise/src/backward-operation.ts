import { emitRowsGradient, planRowsGradient, type PairwiseDType } from '@mercer/kernels';
import { inputsOf, reduction, type VectorExpr } from '@mercer/formula';
import { describeValue } from '@mercer/options';
import {
  isTensor,
  MercerError,
  rowMajorStrides,
  type LoadOptions,
  type StreamOption,
  type Tensor,
} from '@mercer/tensor';
import {
  addReductions,
  addSumTo,
  assertTensor,
  CallSteps,
  checkOut,
  coreOf,
  LOAD_OPTIONS,
  Operation,
  pairOperand,
  pointerAt,
  sizeOfShape,
  STREAM_OPTION,
  strideOverBatch,
  viewsOverlap,
  type CallPlan,
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
} from './backward-formulas.js';
import { CallInputs } from './call-inputs.js';
import { checkPreparedFor } from './check-prepared.js';
import { checkUpstream } from './check-upstream.js';
import type { DifferentiableSpec } from './differentiable-spec.js';
import { checkParameter, parameterBatch } from './kernel-parameter.js';
import { inputOperand, pairwiseShape, type PairwiseShape } from './operands.js';
import { checkFeatures, checkInputs, specKey } from './pairwise-operation.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { checkScale } from './row-scale.js';
import { boundScale, preparedRows, type BoundRows, type BoundScale } from './prepared-rows.js';
import type { ParameterValue } from './run-kernel-options.js';

/** A forward call, and what of it is differentiated by. */
export interface BackwardSpec {
  readonly forward: PairwiseSpec;
  /** The same expressions with every exponent that is differentiated by as a variable. */
  readonly open: DifferentiableSpec;
  readonly wrt: readonly BackwardVariable[];
}

/** What a gradient is taken by. */
export interface BackwardVariable {
  readonly label: string;
  /** A parameter of the expressions by its name there; 'none' has no influence on the result. */
  readonly kind: 'a' | 'b' | 'scale' | 'regularization' | 'parameter' | 'none';
  readonly name: string | undefined;
  /** Of what is no rows: the gradient has its shape. */
  readonly value: ParameterValue | undefined;
}

/** Where gradients are written, by what they are taken by. */
export type GradientOuts = Readonly<Record<string, Tensor | undefined>>;

/** Options that say nothing about what is computed. */
export interface BackwardOptions extends StreamOption, LoadOptions {
  readonly out?: GradientOuts | undefined;
}

/** What prepared calls know of their examples. */
interface Example {
  readonly shape: Pick<PairwiseShape, 'dtype' | 'device' | 'k'>;
  /** Whether b was left out. */
  readonly one: boolean;
}

type Arguments = readonly [spec: BackwardSpec, gradient: Tensor, a: Tensor, b: Tensor | undefined];

/**
 * The gradients of a call over pairs of rows, in the order of `wrt`: reductions of formulas that read the upstream gradient as values
 * of pairs, and sums over what was broadcast.
 */
const backwardOperation = new Operation<Arguments, BackwardOptions, Example>({
  what: ([{ forward }]) => forward.what,
  options: { out: true, ...STREAM_OPTION, ...LOAD_OPTIONS },
  freeOptions: { out: true, stream: true },
  snapshot: (args, options) => {
    const { out } = options;
    if (out !== undefined) checkNames(args[0], out);
    return [args, { ...options, out: out && { ...out } }];
  },
  identify: ([spec, gradient, a, b], { out }) => {
    const inputs = b === undefined ? [gradient, a] : [gradient, a, b];
    for (const { tensor } of parameterTensors(spec.forward)) inputs.push(tensor);
    return {
      key: keyOf(spec, b === undefined),
      tensors: { inputs, outs: outsOf(spec, out) },
    };
  },
  plan: planCall,
});

/** Gradients by what they are taken by. */
export type GradientsByLabel = Readonly<Record<string, Tensor | undefined>>;

const byLabel = ({ wrt }: BackwardSpec, gradients: readonly Tensor[]): GradientsByLabel =>
  Object.fromEntries(wrt.map(({ label }, at) => [label, gradients[at]]));

/** Resolves to the gradients when they are enqueued. @throws MercerError as the checks of the operation do */
export async function backward(
  spec: BackwardSpec,
  gradient: Tensor,
  a: Tensor,
  b: Tensor | undefined,
  options: BackwardOptions,
): Promise<GradientsByLabel> {
  return byLabel(spec, await backwardOperation.call([spec, gradient, a, b], options));
}

/** A call like this one, compiled and loaded: it enqueues, and gives the gradients at once. */
export async function preparedBackward(
  spec: BackwardSpec,
  gradient: Tensor,
  a: Tensor,
  b: Tensor | undefined,
  options: BackwardOptions,
): Promise<
  (g: Tensor, x: Tensor, y: Tensor | undefined, free?: BackwardOptions) => GradientsByLabel
> {
  const prepared = await backwardOperation.prepare([spec, gradient, a, b], options);
  return (g, x, y, free) => byLabel(spec, prepared([spec, g, x, y], free));
}

/** All of a spec that plans read, numbers included: they are written to memory that the kernels read. */
function keyOf({ forward, open, wrt }: BackwardSpec, isOne: boolean): string {
  const { inner, outer } = open.expressions;
  const values = [...forward.parameters, ...open.parameters].map(
    ({ name, value }) => `${name}=${isTensor(value) ? '*' : value}`,
  );
  const scale = forward.rows?.scale;
  const names = wrt.map(({ label, kind, name, value }) =>
    [label, kind, name, isTensor(value) ? `[${value.shape.join()}]` : ''].join(),
  );
  return [
    specKey(forward),
    ...[isOne, inner.id, outer.id],
    ...[...values, isTensor(scale) ? '*' : scale, ...names],
  ].join(' ');
}

function planCall(
  [spec, gradient, a, b]: Arguments,
  { out }: BackwardOptions,
  prepared?: Example | 'example',
): CallPlan<Example> {
  const { forward, open, wrt } = spec;
  const { what } = forward;
  assertTensor(gradient, `${what}: gradient`);
  assertTensor(a, `${what}: a`);
  if (b !== undefined) assertTensor(b, `${what}: b`);
  const beside = parameterTensors(forward);
  if (typeof prepared === 'object') checkInputs(what, prepared.one, b === undefined);
  const shape = pairwiseShape(what, a, b ?? a, beside);
  const { dtype, device, k } = shape;
  if (typeof prepared === 'object') {
    checkPreparedFor(what, shape, prepared.shape);
    checkFeatures(what, k, prepared.shape.k);
  }
  if (k > MOST_FEATURES) {
    throw new MercerError(
      'UNSUPPORTED',
      `${what}: the data have ${k} features, and gradients are computed of up to ${MOST_FEATURES}. Cut the features into parts.`,
    );
  }
  forward.check?.(dtype);
  checkUpstream(what, gradient, shape);
  checkValues(forward, shape);
  const rows = b === undefined ? [a] : [a, b];
  const read = [gradient, ...rows, ...beside.map(({ tensor }) => tensor)];
  const outs = outsOf(spec, out);
  checkOuts(spec, outs, shape, read, [a, b]);
  const tensors = { inputs: read, outs };
  const steps = new CallSteps(coreOf(shape.device), tensors);
  const call = new BackwardSteps(spec, new CallInputs(what, steps, read, true), shape, gradient);
  const results = wrt.map((one) => steps.rowMajorResult({ shape: shapeOf(one, a, b), dtype }));
  call.add(a, b, results);
  return {
    tensors,
    steps,
    // the expressions, whose ids are in the key, and the formulas, whose ids are in those of the kernels
    holds: [forward.expressions, open.expressions, call.formulas],
    example: { shape: { dtype, device, k }, one: b === undefined },
  };
}

/** Components of a vector of a formula. */
const MOST_FEATURES = 2 ** 24;

/** Row numbers are compared in the data type. */
const MOST_ROWS = { float32: 2 ** 24, float64: 2 ** 53 };

/** The values of a call, whatever is differentiated by. @throws MercerError as the forward call does, and UNSUPPORTED */
function checkValues(
  { what, parameters, diagonal, rows }: PairwiseSpec,
  shape: PairwiseShape,
): void {
  for (const { label, value } of parameters) {
    if (isTensor(value)) checkParameter(what, label, value, value.shape, shape);
  }
  const scale = rows?.scale;
  if (isTensor(scale)) checkScale(what, scale, shape);
  if (diagonal === undefined) return;
  const { value, mode } = diagonal;
  if (isTensor(value)) checkParameter(what, 'regularization', value, value.shape, shape);
  const { m, n, dtype } = shape;
  if (mode === 'add' || Math.max(m, n) <= MOST_ROWS[dtype]) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: a regularised diagonal of ones over ${m} and ${n} rows of ${dtype}, whose numbers are exact up to ${MOST_ROWS[dtype]}. Cut the rows into parts.`,
  );
}

const outsOf = ({ wrt }: BackwardSpec, out: GradientOuts | undefined): (Tensor | undefined)[] =>
  wrt.map(({ label }) => (out !== undefined && Object.hasOwn(out, label) ? out[label] : undefined));

/** @throws MercerError INVALID_ARGUMENT */
function checkNames({ forward: { what }, wrt }: BackwardSpec, out: unknown): void {
  const names = wrt.map(({ label }) => label);
  if (typeof out !== 'object' || out === null || isTensor(out)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: out is ${describeValue(out)}. Pass an object with a tensor for each gradient that is to be written to one, of ${names.join(', ')}.`,
    );
  }
  const stranger = Object.keys(out).find((name) => !names.includes(name));
  if (stranger === undefined) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: out has '${stranger}', by which nothing is differentiated. Use some of ${names.join(', ')}.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED */
function checkOuts(
  { forward: { what }, wrt }: BackwardSpec,
  outs: readonly (Tensor | undefined)[],
  { dtype, device }: PairwiseShape,
  inputs: readonly Tensor[],
  [a, b]: readonly [Tensor, Tensor | undefined],
): void {
  const written: Tensor[] = [];
  for (const [at, out] of outs.entries()) {
    const one = wrt[at];
    if (out === undefined || one === undefined) continue;
    const shaped = { shape: shapeOf(one, a, b), dtype, device };
    checkOut(out, shaped, inputs, `${what}: ${one.label}`);
    const other = written.find((before) => viewsOverlap(before, out));
    if (other !== undefined) {
      throw new MercerError(
        'OVERLAP',
        `${what}: the tensors of out share memory: the ${other.label} and the ${out.label}. Pass tensors of their own.`,
      );
    }
    written.push(out);
  }
}

function shapeOf(
  { kind, value }: BackwardVariable,
  a: Tensor,
  b: Tensor | undefined,
): readonly number[] {
  if (kind === 'a') return a.shape;
  if (kind === 'b') return b?.shape ?? [];
  return isTensor(value) ? value.shape : [];
}

/** Rows as the reductions read them, and as they were before they were prepared. */
interface Rows {
  readonly input: PairInput;
  readonly plain: BoundRows | undefined;
  readonly count: number;
}

/** The launches of a backward call. */
class BackwardSteps {
  readonly #spec: BackwardSpec;
  readonly #inputs: CallInputs;
  readonly #steps: CallSteps;
  readonly #shape: PairwiseShape;
  readonly #gradient: Tensor;
  readonly #values = new Map<string | number, PairInput>();
  readonly formulas: VectorExpr[] = [];
  #given: PairInput | undefined;
  #scale: BoundScale | undefined;

  constructor(spec: BackwardSpec, inputs: CallInputs, shape: PairwiseShape, gradient: Tensor) {
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

  #sizes(rowsI: number, rowsJ: number): PairSizes {
    const { dtype, batchShape, batch } = this.#shape;
    return { dtype, rowsI, rowsJ, batchShape, batch };
  }

  #rows(name: 'a' | 'b', x: Tensor): Rows {
    const { rows } = this.#spec.forward;
    const { batchShape, k } = this.#shape;
    const shape = this.#shape;
    const count = name === 'a' ? shape.m : shape.n;
    if (rows === undefined) {
      const sizes = this.#sizes(count, count);
      const input = this.#inputs.readable(name, x, (one) => pairOperand(one, sizes), batchShape);
      return { input, plain: undefined, count };
    }
    this.#scale ??= boundScale(this.#inputs, this.#spec.forward, shape);
    const plain = this.#inputs.readable(name, x, (one) => inputOperand(one, shape), batchShape);
    const { view, operand } = preparedRows(this.#inputs, name, rows, this.#scale, shape, plain);
    const { leadingStride, batchStride } = operand;
    return {
      input: {
        view: { ...view, shape: [...view.shape.slice(0, -1), k] },
        operand: { rowStride: leadingStride, columnStride: undefined, batchStride },
      },
      plain,
      count,
    };
  }

  /** dL/d(result) as values of pairs (i, j), or with the rows of both sides exchanged. */
  #upstream(transposed: boolean): PairInput {
    const { view, operand } = (this.#given ??= this.#readableUpstream());
    if (!transposed) return { view, operand };
    const { rowStride, columnStride = 0, batchStride } = operand;
    return { view, operand: { rowStride: columnStride, columnStride: rowStride, batchStride } };
  }

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
    const own = parameterBatch(value.shape);
    const direct = own.length === 0 ? 0 : strideOverBatch(own, value.strides, batchShape);
    if (direct !== undefined && direct >= 0) return input(this.#inputs.view(value), direct);
    const copy = this.#inputs.spread(named?.label ?? given, value, batchShape);
    return input(copy, strideOverBatch(batchShape, copy.strides, batchShape) ?? 0);
  }

  /** The gradient of the rows of one role, as they were prepared, over the whole batch; summed to `to` where that is given. */
  #rowsGradient(role: 'a' | 'b', x: Rows, y: Rows | undefined, to: CallView | undefined): CallView {
    const { dtype, m, n, k, batchShape } = this.#shape;
    const { forward } = this.#spec;
    const { diagonal } = forward;
    const offset = diagonal?.mode === 'set' ? diagonal.offset : undefined;
    const [kept, other] = role === 'a' ? [x, y ?? x] : [y ?? x, x];
    const sizes = role === 'a' ? this.#sizes(m, n) : this.#sizes(n, m);
    const whole = [...batchShape, kept.count, k];
    const isWhole = to !== undefined && sizeOfShape(to.shape) === sizeOfShape(whole);
    const out = isWhole
      ? { ...to, shape: whole, strides: rowMajorStrides(whole) }
      : this.#steps.scratchMemory({ shape: whole, dtype });
    if (sizeOfShape(whole) > 0) {
      const formula =
        y === undefined
          ? ofBothRoles(forward, dtype, k, offset)
          : ofRows(forward, dtype, k, role, offset);
      const inputs = new Map<number, PairInput>([
        [OPERANDS.a, kept.input],
        [OPERANDS.b, other.input],
      ]);
      if (role === 'a') inputs.set(OPERANDS.upstream, this.#upstream(false));
      if (role === 'b' || y === undefined) {
        inputs.set(role === 'b' ? OPERANDS.upstream : OPERANDS.transposed, this.#upstream(true));
      }
      this.#reduce(formula, sizes, inputs, [out]);
    }
    if (to !== undefined && !isWhole) addSumTo(this.#steps, out, to.shape, to);
    return out;
  }

  /** Sums of formulas over the rows j, each to a row-major view. */
  #reduce(
    { formulas, values }: GradientFormula,
    sizes: PairSizes,
    inputs: ReadonlyMap<number, PairInput>,
    to: readonly CallView[],
    accumulate?: PairwiseDType,
  ): void {
    const [first, ...further] = formulas.map((formula) => reduction('Sum', formula));
    if (first === undefined) return;
    this.formulas.push(...formulas);
    const places: (PairInput | undefined)[] = [];
    for (const { position } of inputsOf(...formulas)) {
      const value = values[position - OPERANDS.values];
      places[position] = value === undefined ? inputs.get(position) : this.#value(value);
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
      const part = { ...parts, shape: target, strides: rowMajorStrides(target), offset: at * size };
      addSumTo(this.#steps, each, target, part);
    }
    addSumTo(this.#steps, parts, target, {
      ...to,
      shape: target,
      strides: rowMajorStrides(target),
    });
  }

  /** The gradients of the parameters of the expressions: over the pairs of each row in double precision, then over rows and batch entries. */
  #addParameters(x: Rows, y: Rows, results: readonly CallView[]): void {
    const { open, wrt, forward } = this.#spec;
    const { dtype, m, n, k, batchShape } = this.#shape;
    const wanted = wrt.flatMap(({ kind, name }, at) =>
      kind === 'parameter' && name !== undefined ? [{ name, to: results[at]! }] : [],
    );
    if (wanted.length === 0) return;
    const offset = forward.diagonal?.mode === 'set' ? forward.diagonal.offset : undefined;
    const whole = [...batchShape, m, 1];
    const sums = wanted.map(() => this.#steps.scratchMemory({ shape: whole, dtype }));
    if (sizeOfShape(whole) > 0) {
      const names = wanted.map(({ name }) => name);
      const formula = ofParameters({ ...open, p: forward.p }, names, dtype, k, offset);
      const inputs = new Map([
        [OPERANDS.a, x.input],
        [OPERANDS.b, y.input],
        [OPERANDS.upstream, this.#upstream(false)],
      ]);
      const accumulate = dtype === 'float32' ? 'float64' : undefined;
      this.#reduce(formula, this.#sizes(m, n), inputs, sums, accumulate);
    }
    for (const [at, { to }] of wanted.entries()) {
      const target = [...parameterBatch(to.shape), 1, 1];
      addSumTo(this.#steps, sums[at]!, target, {
        ...to,
        shape: target,
        strides: rowMajorStrides(target),
      });
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
    addSumTo(this.#steps, packed, target, {
      ...to,
      shape: target,
      strides: rowMajorStrides(target),
    });
  }
}
