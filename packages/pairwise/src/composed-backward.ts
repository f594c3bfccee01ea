import { ops, pm, reduction, vi, vij, vj } from '@mercer/formula';
import type { DescriptorParts } from '@mercer/kernels';
import { arange, full, isTensor, type Pending, type Tensor } from '@mercer/tensor';
import { summedTo } from '@mercer/tensor/operation';
import type { BackwardSpec, BackwardVariable } from './backward-spec.js';
import { EXPONENTS, pairKernel } from './pair-kernel.js';
import { parameterBatch } from './kernel-parameter.js';
import type { PairwiseShape } from './operands.js';
import { pairSumShares } from './pair-sums.js';

/** Of either dtype: what is computed here keeps it. */
type Floats = Tensor<'float64'>;
type Value = Floats | Pending<Floats>;

/** A backward call whose tensors may be traced. */
export interface ComposedCall {
  readonly descriptor: DescriptorParts;
  /** With what traced values stand for in their places. */
  readonly spec: BackwardSpec;
  readonly shape: PairwiseShape;
  readonly gradient: Floats;
  readonly a: Floats;
  /** Undefined where a has both roles. */
  readonly b: Floats | undefined;
  /** What was given for a parameter by its name to the caller. */
  readonly given: (label: string) => Floats | number | undefined;
  /** Constants, which are disposed once the call is made. */
  readonly made: Tensor[];
}

/**
 * The gradients of a call as a composition of operations that have derivatives themselves: gradients of the sum of upstream * kernel over all
 * pairs, and the way back through what was done with the rows before.
 */
export async function composedBackward(
  call: Omit<ComposedCall, 'made'>,
): Promise<Readonly<Record<string, Tensor>>> {
  const made: Tensor[] = [];
  try {
    return await gradients({ ...call, made });
  } finally {
    // traces have handles of their own
    for (const one of made) one.dispose();
  }
}

async function gradients(call: ComposedCall): Promise<Readonly<Record<string, Tensor>>> {
  const { a, b, spec } = call;
  const x = await preparedRows(call, a);
  const y = b && (await preparedRows(call, b));
  const kernel = await kernelSum(call, x.rows, (y ?? x).rows);
  const backTo = async (role: 'a' | 'b'): Promise<ReturnType<PreparedRows['back']>> => {
    const own = await kernel.gradientBy(PLACES[role]);
    if (role === 'b') return (y ?? x).back(own);
    return x.back(y === undefined ? own.add(await kernel.gradientBy(PLACES.b)) : own);
  };
  const gradientBy = async ({ kind, label, name }: BackwardVariable): Promise<Value> => {
    if (kind === 'a' || kind === 'b') return (await backTo(kind)).rows;
    if (kind === 'scale') {
      const ofA = (await backTo('a')).scale();
      return y === undefined ? ofA : ofA.add((await backTo('b')).scale());
    }
    const value = call.given(label);
    if (kind === 'regularization') return diagonalSum(call, value);
    if (name === undefined) return zeros(call, shapeOf(value));
    return (await kernel.gradientBy(kernel.placeOf(name))).reshape(shapeOf(value));
  };
  const entries = spec.wrt.map(async (one) => [one.label, await gradientBy(one)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

const shapeOf = (value: Floats | number | undefined): readonly number[] =>
  typeof value === 'object' ? value.shape : [];

const zeros = ({ shape: { dtype, device } }: ComposedCall, shape: readonly number[]) =>
  full(shape, 0, { dtype, device }) as unknown as Value;

/** Rows as the kernel takes them, and the way back from a cotangent of theirs. */
interface PreparedRows {
  readonly rows: Floats;
  readonly back: (cotangent: Value) => { readonly rows: Value; readonly scale: () => Value };
}

/** Rows scaled and normalised; a row of zeros stays one, and has no slope. */
async function preparedRows(call: ComposedCall, x: Floats): Promise<PreparedRows> {
  const { spec, given } = call;
  const { rows } = spec.forward;
  const scale = given('scale');
  const factors =
    typeof scale === 'object'
      ? owned(
          call,
          scale.reshape([...parameterBatch(scale.shape.slice(0, -1)), 1, scale.shape.at(-1) ?? 1]),
        )
      : scale;
  const scaled = factors === undefined ? x : owned(call, await x.mul(factors));
  const { shape } = scaled;
  const fromScaled = (g: Value): ReturnType<PreparedRows['back']> => ({
    rows: summedTo(factors === undefined ? g : g.mul(factors), shape, x.shape) as Value,
    scale: () => summedTo(g.mul(x), shape, shapeOf(factors)).reshape(shapeOf(scale)) as Value,
  });
  if (rows?.normalise !== true) return { rows: scaled, back: fromScaled };
  const squared = owned(call, await scaled.square().sum(-1, { keepDims: true }));
  const { dtype } = squared;
  const reciprocal = squared.add(squared.eq(0).cast(dtype)).rsqrt().mul(squared.gt(0).cast(dtype));
  const unit = owned(call, await scaled.mul(reciprocal));
  const fromUnit = (g: Value): Value => {
    const along = unit.mul(unit.mul(g).sum(-1, { keepDims: true }));
    return g.sub(along).mul(reciprocal);
  };
  return { rows: unit, back: (g) => fromScaled(fromUnit(g)) };
}

/** A value of the call, which is disposed with it where no trace owns it. */
function owned<X extends Tensor>({ made }: ComposedCall, x: X): X {
  if (isTensor(x)) made.push(x);
  return x;
}

/** A constant of the call. */
async function constant(
  call: ComposedCall,
  shape: readonly number[],
  value: number,
): Promise<Floats> {
  const { dtype, device } = call.shape;
  const found: Tensor = await full(shape, value, { dtype, device });
  return owned(call, found) as Floats;
}

/** Where row m and row n lie on the regularised diagonal. */
async function onDiagonal({ spec, shape, made }: ComposedCall): Promise<Tensor<'bool'>> {
  const { m, n, device } = shape;
  const offset = spec.forward.diagonal?.offset ?? 0;
  const where = { dtype: 'int64', device } as const;
  const rows = await arange(offset, m + offset, 1, where);
  const columns = await arange(0, n, 1, where);
  const each = rows.reshape([m, 1]);
  const found = await each.eq(columns);
  made.push(rows, columns, each, found);
  return found;
}

async function diagonalSum(call: ComposedCall, value: Floats | number | undefined): Promise<Value> {
  const { gradient } = call;
  const shape = shapeOf(value);
  const chosen = (await onDiagonal(call)).where(gradient, 0) as Value;
  const sum = summedTo(chosen, gradient.shape, [...parameterBatch(shape), 1, 1]);
  return sum.reshape(shape) as Value;
}

/** Places of the inputs of a kernel's formula; the parameters follow. */
const PLACES = { a: 0, b: 1, upstream: 2, values: 3 } as const;

/** The gradients of the sum of upstream * kernel over all pairs. */
async function kernelSum(call: ComposedCall, x: Floats, y: Floats) {
  const { descriptor, gradient, spec } = call;
  const { dtype, m, n, k, batchShape, batch, outShape } = call.shape;
  const { forward } = spec;
  const isMasked = forward.diagonal?.mode === 'set';
  const upstream = isMasked
    ? owned<Floats>(call, await (await onDiagonal(call)).where(0, gradient))
    : gradient;
  const bound = await boundValues(call);
  const pairs = owned(call, upstream.reshape([...outShape, 1]));
  const tensors = [x, y, pairs, ...bound.values.values()];
  // rows without components: nothing is added up for a pair
  const [a, b] = k === 0 ? [ops.constant(0), ops.constant(0)] : [vi(PLACES.a, k), vj(PLACES.b, k)];
  const { innerOperator, outerPower } = descriptor;
  const isRoot = innerOperator === 'diff' && (outerPower === 'sqrt' || outerPower === 'pow');
  const problem = {
    what: forward.what,
    sizes: { dtype, rowsI: m, rowsJ: n, batchShape, batch },
    kink: isRoot && k > 0 ? ops.equal(ops.sqDist(a, b), 0) : undefined,
  };
  const operands = new Map([
    ...[...bound.numbers].map(([name, number]) => [name, ops.constant(number)] as const),
    ...[...bound.values.keys()].map((name, at) => [name, pm(PLACES.values + at, 1)] as const),
  ]);
  const exponent = bound.values.has('p') ? 0 : Number(call.given('p') ?? call.given('innerP') ?? 0);
  const parts = { descriptor, expressions: bound.expressions, operands, exponent, features: k };
  const term = ops.mul(vij(PLACES.upstream, 1), pairKernel(parts, a, b));
  const ones = await constant(call, [...batchShape, m, 1], 1);
  const shares = pairSumShares(problem, reduction('Sum', term), tensors, ones);
  const names = [...bound.values.keys()];
  return {
    placeOf: (name: string): number => PLACES.values + names.indexOf(name),
    gradientBy: async (place: number): Promise<Floats> => {
      const found = (await shares[place]?.()) as Floats | undefined;
      return found ?? zeros(call, tensors[place]?.shape ?? []);
    },
  };
}

/** The parameters of a kernel's expressions. */
interface BoundValues {
  readonly expressions: BackwardSpec['open']['expressions'];
  /** Those that formulas read, (..batch, 1, 1), in the order of their places. */
  readonly values: ReadonlyMap<string, Floats>;
  /** Numbers that stand in formulas. */
  readonly numbers: ReadonlyMap<string, number>;
}

async function boundValues(call: ComposedCall): Promise<BoundValues> {
  const { spec, given } = call;
  const { forward, open, wrt } = spec;
  // exponents are variables where they are differentiated by
  const own = wrt.some(({ kind }) => kind === 'parameter') ? open : forward;
  const values = new Map<string, Floats>();
  const numbers = new Map([['p', forward.p ?? 1]]);
  for (const { name, label, value: known } of own.parameters) {
    const value = given(label) ?? (known as number);
    if (typeof value !== 'number') {
      values.set(name, owned(call, value.reshape([...parameterBatch(value.shape), 1, 1])));
    } else if (EXPONENTS.includes(name) && !wrt.some((one) => one.name === name)) {
      numbers.set(name, value);
    } else {
      values.set(name, await constant(call, [1, 1], value));
    }
  }
  return { expressions: own.expressions, values, numbers };
}
