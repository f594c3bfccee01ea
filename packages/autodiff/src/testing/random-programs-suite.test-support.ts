import { atan2, concat, pad, stack, tile, where, type Tensor, type Device } from '@mercer/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawnOn, expectClose, type Drawn } from '../../test/differences.mjs';
import { grad, jvp, vjp, vmap } from '../index.js';

type Shape = readonly number[];
type Result = PromiseLike<Tensor> | Tensor;

/** Numbers with their changes along a direction, row by row. */
interface Dual {
  readonly shape: Shape;
  readonly value: Float64Array;
  readonly change: Float64Array;
}
type Pair = readonly [value: number, change: number];

/** What is computed, and what it means. */
interface Operation {
  readonly of: (x: Tensor, y: Tensor) => Result;
  readonly meaning: (x: Dual, y: Dual) => Dual;
}

const sizeOf = (shape: Shape): number => shape.reduce((a, b) => a * b, 1);

function flatIndex(index: Shape, shape: Shape): number {
  return shape.reduce((flat, extent, k) => flat * extent + (index[k] ?? 0), 0);
}

function indices(shape: Shape): readonly Shape[] {
  return Array.from({ length: sizeOf(shape) }, (_, at) =>
    shape.map((extent, k) => Math.floor(at / sizeOf(shape.slice(k + 1))) % extent),
  );
}

function dualOf(shape: Shape, pairs: readonly Pair[]): Dual {
  const [value, change] = [0, 1].map((of) => Float64Array.from(pairs, (pair) => pair[of] ?? NaN));
  return { shape, value: value as Float64Array, change: change as Float64Array };
}

const at = (x: Dual, flat: number): Pair => [x.value[flat] ?? NaN, x.change[flat] ?? NaN];

/** Skips programs whose value is near a kink: there the slope depends on the last bit. */
function away(distance: number): void {
  fc.pre(Math.abs(distance) > 1e-6);
}

/** The shape of two operands; undefined where they do not fit. */
function broadcast(x: Shape, y: Shape): Shape | undefined {
  const rank = Math.max(x.length, y.length);
  const [a, b] = [x, y].map((shape) => [...Array<number>(rank - shape.length).fill(1), ...shape]);
  const common = Array.from({ length: rank }, (_, k) => Math.max(a?.[k] ?? 0, b?.[k] ?? 0));
  const fits = [a, b].every((shape) => shape?.every((n, k) => n === 1 || n === common[k]));
  return fits && sizeOf(common) <= 48 ? common : undefined;
}

function elementwise(x: Dual, y: Dual, f: (a: Pair, b: Pair) => Pair): Dual {
  const shape = broadcast(x.shape, y.shape) ?? [];
  const operand = (one: Dual, index: Shape): Pair => {
    const own = index.slice(shape.length - one.shape.length);
    return at(
      one,
      flatIndex(
        own.map((n, k) => (one.shape[k] === 1 ? 0 : n)),
        one.shape,
      ),
    );
  };
  return dualOf(
    shape,
    indices(shape).map((index) => f(operand(x, index), operand(y, index))),
  );
}

/** A function of one number, with its slope. */
function unary(
  of: (x: Tensor) => Result,
  f: (v: number) => number,
  slope: (v: number) => number,
): Operation {
  const meaning = (x: Dual): Dual => elementwise(x, x, ([v, dv]) => [f(v), slope(v) * dv]);
  return { of, meaning };
}

/** A function of two numbers, with its slopes. */
function binary(
  of: (x: Tensor, y: Tensor) => Result,
  f: (a: number, b: number) => number,
  slopes: (a: number, b: number) => Pair,
): Operation {
  const meaning = (x: Dual, y: Dual): Dual =>
    elementwise(x, y, ([a, da], [b, db]) => {
      const [byA, byB] = slopes(a, b);
      return [f(a, b), byA * da + byB * db];
    });
  return { of, meaning };
}

const sigmoid = (v: number): number => 1 / (1 + Math.exp(-v));

const UNARY: readonly Operation[] = [
  unary((x) => x.sin(), Math.sin, Math.cos),
  unary(
    (x) => x.tanh(),
    Math.tanh,
    (v) => 1 - Math.tanh(v) ** 2,
  ),
  unary(
    (x) => x.atan(),
    Math.atan,
    (v) => 1 / (1 + v * v),
  ),
  unary(
    (x) => x.sigmoid(),
    sigmoid,
    (v) => sigmoid(v) * sigmoid(-v),
  ),
  unary(
    (x) => x.softplus(),
    (v) => Math.log1p(Math.exp(v)),
    sigmoid,
  ),
  unary(
    (x) => x.square(),
    (v) => v * v,
    (v) => 2 * v,
  ),
  unary(
    (x) => x.pow(3),
    (v) => v ** 3,
    (v) => 3 * v * v,
  ),
  unary(
    (x) => x.neg().mul(0.5).add(1),
    (v) => 1 - v / 2,
    () => -0.5,
  ),
  unary(
    (x) => x.square().add(1).log(),
    (v) => Math.log(1 + v * v),
    (v) => (2 * v) / (1 + v * v),
  ),
  unary(
    (x) => x.square().add(1).rsqrt(),
    (v) => (1 + v * v) ** -0.5,
    (v) => -v * (1 + v * v) ** -1.5,
  ),
  unary(
    (x) => x.tanh().exp(),
    (v) => Math.exp(Math.tanh(v)),
    (v) => Math.exp(Math.tanh(v)) * (1 - Math.tanh(v) ** 2),
  ),
  unary(
    (x) => x.abs(),
    Math.abs,
    (v) => (away(v), Math.sign(v)),
  ),
  unary(
    (x) => x.relu(),
    (v) => Math.max(v, 0),
    (v) => (away(v), v > 0 ? 1 : 0),
  ),
];

const BINARY: readonly Operation[] = [
  binary(
    (x, y) => x.add(y),
    (a, b) => a + b,
    () => [1, 1],
  ),
  binary(
    (x, y) => x.sub(y),
    (a, b) => a - b,
    () => [1, -1],
  ),
  binary(
    (x, y) => x.mul(y),
    (a, b) => a * b,
    (a, b) => [b, a],
  ),
  binary(
    (x, y) => x.div(y.square().add(1)),
    (a, b) => a / (1 + b * b),
    (a, b) => [1 / (1 + b * b), (-2 * a * b) / (1 + b * b) ** 2],
  ),
  binary(
    (x, y) => x.maximum(y),
    Math.max,
    (a, b) => (away(a - b), a > b ? [1, 0] : [0, 1]),
  ),
  binary(
    (x, y) => x.minimum(y),
    Math.min,
    (a, b) => (away(a - b), a < b ? [1, 0] : [0, 1]),
  ),
  binary(
    (x, y) => where(x.gt(y), x.mul(y), y),
    (a, b) => (a > b ? a * b : b),
    (a, b) => (away(a - b), a > b ? [b, a] : [0, 1]),
  ),
  binary(
    (x, y) => atan2(x, y.square().add(1)),
    (a, b) => Math.atan2(a, 1 + b * b),
    (a, b) => {
      const c = 1 + b * b;
      return [c / (a * a + c * c), (-2 * a * b) / (a * a + c * c)];
    },
  ),
];

type Line = (values: readonly number[]) => {
  value: number;
  slopes: readonly number[];
};

const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => total(values) / values.length;

const largest: Line = (values) => {
  const value = Math.max(...values);
  const first = values.indexOf(value);
  for (const [k, one] of values.entries()) if (k !== first) away(one - value);
  return { value, slopes: values.map((_, k) => (k === first ? 1 : 0)) };
};

const variance: Line = (values) => ({
  value: mean(values.map((v) => (v - mean(values)) ** 2)),
  slopes: values.map((v) => (2 * (v - mean(values))) / values.length),
});

const euclidean: Line = (values) => {
  const value = Math.sqrt(total(values.map((v) => v * v)));
  away(value);
  return { value, slopes: values.map((v) => v / value) };
};

const logSumExp: Line = (values) => {
  const sum = total(values.map(Math.exp));
  return { value: Math.log(sum), slopes: values.map((v) => Math.exp(v) / sum) };
};

type Reduced = (x: Tensor, axis: number | undefined, options: { keepDims: boolean }) => Result;

const REDUCTIONS: readonly (readonly [of: Reduced, line: Line])[] = [
  [
    (x, axis, o) => x.sum(axis, o),
    (values) => ({ value: total(values), slopes: values.map(() => 1) }),
  ],
  [
    (x, axis, o) => x.mean(axis, o),
    (values) => ({ value: mean(values), slopes: values.map(() => 1 / values.length) }),
  ],
  [
    (x, axis, o) => x.prod(axis, o),
    (values) => ({
      value: values.reduce((a, b) => a * b, 1),
      slopes: values.map((_, k) => values.with(k, 1).reduce((a, b) => a * b, 1)),
    }),
  ],
  [(x, axis, o) => x.max(axis, o), largest],
  [(x, axis, o) => x.var(axis, o), variance],
  [(x, axis, o) => x.norm(axis, o), euclidean],
  [(x, axis, o) => x.logSumExp(axis, o), logSumExp],
];

/** A reduction of an axis, or of all where the number is the rank. */
function reduction([of, line]: (typeof REDUCTIONS)[number], { shape }: Dual, n: number): Operation {
  const axis = n % (shape.length + 1);
  const isAll = axis === shape.length;
  const keepDims = n % 2 === 0;
  const reduced = shape.map((extent, k) => (isAll || k === axis ? 1 : extent));
  const left = keepDims ? reduced : shape.filter((_, k) => !isAll && k !== axis);
  const meaning = (x: Dual): Dual => {
    const lines = indices(reduced).map((corner) => {
      const members = indices(shape).filter((index) =>
        index.every((i, k) => reduced[k] === 1 || i === corner[k]),
      );
      const pairs = members.map((index) => at(x, flatIndex(index, shape)));
      const { value, slopes } = line(pairs.map(([v]) => v));
      return [value, total(pairs.map(([, dv], k) => dv * (slopes[k] ?? NaN)))] as const;
    });
    return dualOf(left, lines);
  };
  return { of: (x) => of(x, isAll ? undefined : axis, { keepDims }), meaning };
}

/** The elements of x, and then of y, at other places; 0 where there is none. */
function moved(
  of: (x: Tensor, y: Tensor) => Result,
  shape: Shape,
  from: (index: Shape) => number | undefined,
): Operation {
  const meaning = (x: Dual, y: Dual): Dual =>
    dualOf(
      shape,
      indices(shape).map((index) => {
        const flat = from(index);
        if (flat === undefined) return [0, 0];
        return flat < x.value.length ? at(x, flat) : at(y, flat - x.value.length);
      }),
    );
  return { of, meaning };
}

/** Operations on shapes that fit two operands. */
function shapings(x: Shape, y: Shape): readonly Operation[] {
  const [first = 1, ...rest] = x;
  const from = (index: Shape): number => flatIndex(index, x);
  const all = [
    moved(
      (v) => v.contiguous().reshape([-1]),
      [sizeOf(x)],
      ([k = 0]) => k,
    ),
    moved(
      (v) => v.broadcastTo([2, ...x]),
      [2, ...x],
      ([, ...index]) => from(index),
    ),
    moved(
      (v) => v.permute(x.map((_, k) => x.length - 1 - k)),
      x.toReversed(),
      (index) => from(index.toReversed()),
    ),
    x.join() === y.join()
      ? moved(
          (v, w) => stack([v, w], 0),
          [2, ...x],
          ([part = 0, ...index]) => part * sizeOf(x) + from(index),
        )
      : moved(
          (v) => stack([v, v], 0),
          [2, ...x],
          ([, ...index]) => from(index),
        ),
  ];
  if (x.length === 0) return all;
  return [
    ...all,
    moved(
      (v) => v.flip(0),
      x,
      ([k = 0, ...index]) => from([first - 1 - k, ...index]),
    ),
    moved(
      (v) => v.slice(-1),
      rest,
      (index) => from([first - 1, ...index]),
    ),
    moved(
      (v) => v.slice([null, null, -2]),
      [Math.ceil(first / 2), ...rest],
      ([k = 0, ...index]) => from([first - 1 - 2 * k, ...index]),
    ),
    moved(
      (v) => tile(v, [2, ...rest.map(() => 1)]),
      [2 * first, ...rest],
      ([k = 0, ...index]) => from([k % first, ...index]),
    ),
    moved(
      (v) => concat([v, v.slice([0, 1])], 0),
      [first + 1, ...rest],
      ([k = 0, ...index]) => from([k % first, ...index]),
    ),
    moved(
      (v) => pad(v, [[1, 0], ...rest.map(() => [0, 0] as const)]),
      [first + 1, ...rest],
      ([k = 0, ...index]) => (k === 0 ? undefined : from([k - 1, ...index])),
    ),
  ];
}

/** A step of a program as it is drawn: numbers that choose, whatever the shapes. */
const drawnStep = fc.record({
  kind: fc.nat({ max: 3 }),
  which: fc.nat({ max: 99 }),
  n: fc.nat({ max: 11 }),
  back: fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 9 })),
  isAwaited: fc.boolean(),
});
type DrawnStep = typeof drawnStep extends fc.Arbitrary<infer T> ? T : never;

const LAYOUTS = ['rows', 'transposed', 'sliced', 'broadcast'] as const;

/** Leaves fit one another, so that operands are broadcast from the start. */
const program = fc.record({
  leaves: fc.array(
    fc.record({
      shape: fc.constantFrom<readonly number[]>([2, 3], [3], [2, 1], [], [1, 3], [2, 2, 3]),
      layout: fc.constantFrom(...LAYOUTS),
      seed: fc.integer({ min: 1, max: 1e6 }),
    }),
    { minLength: 2, maxLength: 3 },
  ),
  steps: fc.array(drawnStep, { minLength: 3, maxLength: 9 }),
});
type Program = typeof program extends fc.Arbitrary<infer T> ? T : never;
function chosen<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T;
}

/** The operation of a step, with the places of its operands: mostly late ones, so that programs are deep. */
function planned(step: DrawnStep, known: readonly Dual[]) {
  const { kind, which, n, back } = step;
  const x = known.length - 1 - (back[0] % known.length);
  const one = known[x] as Dual;
  const partners = known.flatMap(({ shape }, k) =>
    broadcast(one.shape, shape) === undefined ? [] : [k],
  );
  const y = chosen(partners, back[1]);
  if (kind === 0) return { operation: chosen(UNARY, which), x, y };
  if (kind === 1) return { operation: chosen(BINARY, which), x, y };
  if (kind === 2) return { operation: reduction(chosen(REDUCTIONS, which), one, n), x, y };
  const { shape } = known[y] as Dual;
  return { operation: chosen(shapings(one.shape, shape), which), x, y };
}

interface Planned {
  readonly operation: Operation;
  readonly x: number;
  readonly y: number;
  readonly isAwaited: boolean;
}

/** The steps on which the last one depends; the others are undefined. */
function withoutUnused(plan: readonly Planned[], leaves: number): readonly (Planned | undefined)[] {
  const used = new Set([leaves + plan.length - 1]);
  const kept = plan.toReversed().map((step, k) => {
    if (!used.has(leaves + plan.length - 1 - k)) return undefined;
    used.add(step.x);
    if (step.operation.of.length > 1) used.add(step.y);
    return step;
  });
  return kept.toReversed();
}

/** The program in plain loops, and its steps as they were chosen. */
function evaluated(leaves: readonly Dual[], steps: readonly DrawnStep[]) {
  const known = [...leaves];
  const plan = steps.map((step) => {
    const { operation, x, y } = planned(step, known);
    const result = operation.meaning(known[x] as Dual, known[y] as Dual);
    // larger numbers would leave fewer digits to compare
    fc.pre(result.value.length <= 48 && result.value.every((v) => Math.abs(v) < 100));
    known.push(result);
    return { operation, x, y, isAwaited: step.isAwaited };
  });
  return { plan: withoutUnused(plan, leaves.length), result: known.at(-1) as Dual };
}

/** The same with tensors. */
function computed({ plan }: ReturnType<typeof evaluated>) {
  return async (leaves: readonly Tensor[]): Promise<Tensor> => {
    const known: (Tensor | undefined)[] = [...leaves];
    for (const step of plan) {
      if (step === undefined) {
        known.push(undefined);
        continue;
      }
      const { operation, x, y, isAwaited } = step;
      const result = operation.of(known[x] as Tensor, known[y] as Tensor);
      // a result that is not awaited has the methods of a tensor
      known.push(isAwaited ? await result : (result as Tensor));
    }
    return known.at(-1) as Tensor;
  };
}

const numbers = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

const dot = (a: Float64Array, b: Float64Array): number =>
  total([...a].map((v, k) => v * (b[k] ?? NaN)));

/** The leaves with a direction, or with that of one element alone. */
function along(
  values: readonly Float64Array[],
  shapes: readonly Shape[],
  changes: readonly Float64Array[],
) {
  return values.map((value, k): Dual => ({
    shape: shapes[k] ?? [],
    value,
    change: changes[k] ?? new Float64Array(value.length),
  }));
}

async function leaf(
  { shape, layout, seed }: Program['leaves'][number],
  drawn: Drawn,
): Promise<Tensor> {
  const [first = 1, ...rest] = shape;
  if (layout === 'rows' || shape.length === 0) return drawn(shape, [-1.5, 1.5], seed);
  if (layout === 'broadcast') return (await drawn(rest, [-1.5, 1.5], seed)).broadcastTo(shape);
  if (layout === 'sliced') {
    return (await drawn([2 * first, ...rest], [-1.5, 1.5], seed)).slice([null, null, -2]);
  }
  const reversed = await drawn(shape.toReversed(), [-1.5, 1.5], seed);
  return reversed.permute(shape.map((_, k) => shape.length - 1 - k));
}

async function check({ leaves: given, steps }: Program, drawn: Drawn): Promise<void> {
  const leaves = await Promise.all(given.map((one) => leaf(one, drawn)));
  const directions = await Promise.all(
    given.map(async ({ shape, seed }) => drawn(shape, [-1, 1], seed + 1)),
  );
  const shapes = given.map(({ shape }) => shape);
  const values = await Promise.all(leaves.map(numbers));
  const expected = evaluated(
    along(values, shapes, await Promise.all(directions.map(numbers))),
    steps,
  );
  const f = computed(expected);

  const { value, tangent } = await jvp(f)([leaves], [directions]);
  expect(value.shape).toEqual(expected.result.shape);
  expect(tangent.shape).toEqual(expected.result.shape);
  expectClose(await numbers(value), expected.result.value, 1e-10);
  expectClose(await numbers(tangent), expected.result.change, 1e-9);

  const cotangent = await drawn(value.shape, [-1, 1], 5);
  const weights = await numbers(cotangent);
  const { value: same, pull, dispose } = await vjp(f)(leaves);
  expectClose(await numbers(same), expected.result.value, 1e-10);
  const pulled = await pull(cotangent);
  dispose();
  const gradients = await grad(
    async (all: readonly Tensor[]) => (await f(all)).mul(cotangent).sum(),
    { allowUnused: true },
  )(leaves);
  for (const [k, { shape }] of given.entries()) {
    expect(pulled[k]?.shape).toEqual(shape);
    const slopes = Float64Array.from({ length: sizeOf(shape) }, (_, element) => {
      const changes = values.map((v) => new Float64Array(v.length));
      changes[k]?.fill(1, element, element + 1);
      return dot(evaluated(along(values, shapes, changes), steps).result.change, weights);
    });
    expectClose(await numbers(pulled[k] as Tensor), slopes, 1e-9);
    expectClose(await numbers(gradients[k] as Tensor), slopes, 1e-9);
  }
}

/** How far the leaves move for differences of slopes: less than programs are from kinks. */
const STEP = 5e-7;

/** Changes of the program's gradient along a direction, in both orders of the modes, beside differences of slopes that plain loops give. */
async function checkSecond({ leaves: given, steps }: Program, drawn: Drawn): Promise<void> {
  const leaves = await Promise.all(given.map((one) => leaf(one, drawn)));
  const directions = await Promise.all(
    given.map(async ({ shape, seed }) => drawn(shape, [-1, 1], seed + 1)),
  );
  const shapes = given.map(({ shape }) => shape);
  const values = await Promise.all(leaves.map(numbers));
  const moves = await Promise.all(directions.map(numbers));
  const start = evaluated(along(values, shapes, []), steps);
  const cotangent = await drawn(start.result.shape, [-1, 1], 5);
  const weights = await numbers(cotangent);
  const slopes = (by: number): readonly number[] => {
    const moved = values.map((v, k) => v.map((one, n) => one + by * (moves[k]?.[n] ?? NaN)));
    return shapes.flatMap((shape, k) =>
      Array.from({ length: sizeOf(shape) }, (_, element) => {
        const changes = values.map((v) => new Float64Array(v.length));
        changes[k]?.fill(1, element, element + 1);
        return dot(evaluated(along(moved, shapes, changes), steps).result.change, weights);
      }),
    );
  };
  const [before, after] = [slopes(-STEP), slopes(STEP)];
  const expected = after.map((one, k) => (one - (before[k] ?? NaN)) / (2 * STEP));

  const f = computed(start);
  const options = { allowUnused: true };
  const loss = async (all: readonly Tensor[]) => (await f(all)).mul(cotangent).sum();
  const { tangent } = await jvp(grad(loss, options))([leaves], [directions]);
  const slope = async (all: readonly Tensor[]): Promise<Tensor> =>
    (await jvp(loss)([all], [directions])).tangent;
  const flat = async (all: readonly Tensor[]): Promise<number[]> =>
    (await Promise.all(all.map(numbers))).flatMap((one) => [...one]);
  const forwards = await flat(tangent);
  expectClose(forwards, expected, 1e-6);
  expectClose(await flat(await grad(slope, options)(leaves)), forwards, 1e-9);
}

const EXAMPLES = 3;

/** The program for several examples at once, some of whose leaves they share, beside plain loops, and its gradients beside those of a loop. */
async function checkMapped({ leaves: given, steps }: Program, drawn: Drawn): Promise<void> {
  const axes = given.map(({ shape, seed }, k) =>
    k > 0 && seed % 3 === 0 ? null : seed % (shape.length + 1),
  );
  const leaves = await Promise.all(
    given.map(async (one, k) => {
      const at = axes[k] ?? null;
      return at === null
        ? leaf(one, drawn)
        : leaf({ ...one, shape: one.shape.toSpliced(at, 0, EXAMPLES) }, drawn);
    }),
  );
  const example = (at: number): readonly Tensor[] =>
    leaves.map((one, k) => {
      const axis = axes[k] ?? null;
      return axis === null ? one : one.slice(...new Array<null>(axis).fill(null), at);
    });
  const shapes = given.map(({ shape }) => shape);
  const all = await Promise.all(
    Array.from({ length: EXAMPLES }, async (_, at) => {
      const values = await Promise.all(example(at).map(numbers));
      return evaluated(along(values, shapes, []), steps);
    }),
  );
  const [first] = all as [ReturnType<typeof evaluated>];
  const f = computed(first);
  const mapped = { inAxes: [axes] };
  const value = await vmap(f, mapped)(leaves);
  expect(value.shape).toEqual([EXAMPLES, ...first.result.shape]);
  expectClose(
    await numbers(value),
    all.flatMap(({ result }) => [...result.value]),
    1e-10,
  );

  const loss = async (one: readonly Tensor[]): Promise<Tensor> => (await f(one)).square().sum();
  const options = { allowUnused: true };
  const each = await vmap(grad(loss, options), mapped)(leaves);
  const total = await grad(
    async (one: readonly Tensor[]) => (await vmap(loss, mapped)(one)).sum(),
    options,
  )(leaves);
  const loop = await Promise.all(
    Array.from({ length: EXAMPLES }, async (_, at) => grad(loss, options)(example(at))),
  );
  for (const [k, one] of each.entries()) {
    const parts = loop.map((gradients) => gradients[k] as Tensor);
    const apart = await stack(parts);
    expectClose(await numbers(one), await numbers(apart), 1e-10);
    const axis = axes[k] ?? null;
    const together = axis === null ? apart.sum(0) : stack(parts, axis);
    expectClose(await numbers(total[k] as Tensor), await numbers(await together), 1e-10);
  }
}

/** Random programs against dual numbers in plain loops. */
export function describeRandomPrograms(device: () => Device, numRuns: number): void {
  const drawn = drawnOn(device);
  describe('random programs', () => {
    it('have the values and derivatives of dual numbers in plain loops', async () => {
      await fc.assert(
        fc.asyncProperty(program, (one) => check(one, drawn)),
        { seed: 40, numRuns },
      );
    }, 120_000);
  });
}

/** Their second derivatives. */
export function describeSecondOfPrograms(device: () => Device, numRuns: number): void {
  const drawn = drawnOn(device);
  describe('random programs', () => {
    it('have the second derivatives that differences of dual numbers have, forwards over backwards and backwards over forwards', async () => {
      await fc.assert(
        fc.asyncProperty(program, (one) => checkSecond(one, drawn)),
        { seed: 42, numRuns },
      );
    }, 120_000);
  });
}

/** The same for several examples at once. */
export function describeMappedPrograms(device: () => Device, numRuns: number): void {
  const drawn = drawnOn(device);
  describe('random programs', () => {
    it('are those of plain loops where many examples are computed at once, with their gradients', async () => {
      await fc.assert(
        fc.asyncProperty(program, (one) => checkMapped(one, drawn)),
        { seed: 41, numRuns },
      );
    }, 120_000);
  });
}
