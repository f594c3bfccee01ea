import { describeValue, type OptionNames } from '@mercer/options';
import {
  MercerError,
  random,
  tensor,
  type ProgressOption,
  type SignalOption,
  type Tensor,
} from '@mercer/tensor';
import { PROGRESS_OPTION, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { AutodiffError } from './autodiff-error.js';
import { taped } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { pushed } from './jvp.js';
import { isFloating } from './trace/values.js';
import { isTree, leavesOf, replaced } from './tree.js';
import { vjp } from './vjp.js';

/** A way to compute derivatives. */
export type DerivativeMode = 'vjp' | 'jvp';

/** Options of {@link checkGradients}. Its signal is heeded, and its progress counted, between directions. */
export interface CheckGradientsOptions extends SignalOption, ProgressOption {
  /** What the random directions are a function of. */
  readonly key: random.RandomKey;
  /** 2 checks the derivatives of the derivatives too. Default: 1. */
  readonly order?: 1 | 2 | undefined;
  /** Default: both. */
  readonly modes?: readonly DerivativeMode[] | undefined;
  /** How many directions for each tensor of the arguments. Default: 2. */
  readonly directions?: number | undefined;
  /** The largest relative error. Default: 1e-6 where all is float64, 1e-3 with float32, 1e-2 with float16, 1e-1 with bfloat16. */
  readonly tolerance?: number | undefined;
}

const OPTIONS: OptionNames<CheckGradientsOptions> = {
  ...SIGNAL_OPTION,
  ...PROGRESS_OPTION,
  key: true,
  order: true,
  modes: true,
  directions: true,
  tolerance: true,
};

type AnyFunction = (...args: never[]) => unknown;

/** Half the distance of 1 to the next number, and how well derivatives agree. */
const PRECISION: Readonly<
  Record<string, { readonly epsilon: number; readonly tolerance: number }>
> = {
  float64: { epsilon: 2 ** -53, tolerance: 1e-6 },
  float32: { epsilon: 2 ** -24, tolerance: 1e-3 },
  float16: { epsilon: 2 ** -11, tolerance: 1e-2 },
  bfloat16: { epsilon: 2 ** -8, tolerance: 1e-1 },
};

/** What the checks of one call have in common. */
interface Checking {
  readonly modes: readonly DerivativeMode[];
  readonly directions: number;
  readonly tolerance: number | undefined;
  /** A direction is done, of those of so many variables. */
  readonly advance: (variables: number) => void;
  /** Directions and weights, which what is computed later may still read. */
  readonly kept: Tensor[];
  /** Numbers between -1 and 1, others in each call. */
  readonly draw: (count: number) => Promise<Float64Array>;
}

/** A floating-point tensor among the arguments. */
interface Variable {
  readonly argument: number;
  /** Among the tensors of the argument. */
  readonly place: number;
  readonly path: string;
  readonly like: Tensor;
  readonly data: Float64Array;
}

/**
 * Compares derivatives with differences of values: for each floating-point tensor of the arguments, along random directions, with random weights of the elements of
 * the value. Differences are taken on both sides in float64, whatever the dtype of the arguments is, so `f` gets float64 tensors too.
 *
 * A derivative is accepted where it differs by no more than the tolerance times the sum of the absolute terms of which it consists, beside the rounding error of
 * the differences. At kinks, and where `f` is no function of its arguments alone, derivatives and differences do not agree.
 *
 * ```ts
 * import { checkGradients } from '@mercer/autodiff';
 * import { random, tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2, 3], { device: 'cpu' });
 * await checkGradients((w: Tensor) => w.softmax().log(), [x], { key: random.key(1), order: 2 }); // throws nothing
 * ```
 *
 * @param f gives a tensor, or objects and arrays of tensors. Arguments that are no trees of tensors are given as they are
 * @throws AutodiffError GRADIENT_MISMATCH with the argument, the direction, both numbers and the relative error; MercerError INVALID_ARGUMENT; as {@link vjp} and
 *   {@link jvp}
 */
export async function checkGradients<A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  args: A,
  options: CheckGradientsOptions,
): Promise<void> {
  const what = 'checkGradients';
  checkFunction(what, f);
  const { order = 1, signal, onProgress, ...given } = readOptions(what, options, OPTIONS);
  const { key, modes = ['vjp', 'jvp'], directions = 2, tolerance } = given;
  const refuse = (name: string, value: unknown, remedy: string): MercerError =>
    new MercerError('INVALID_ARGUMENT', `${what}: ${name} is ${describeValue(value)}. ${remedy}.`);
  if (!Array.isArray(args)) throw refuse('args', args, 'Pass an array of the arguments');
  if (![1, 2].includes(order)) throw refuse('order', order, 'Pass 1 or 2');
  const isMode = (one: unknown): boolean => one === 'vjp' || one === 'jvp';
  if (!Array.isArray(modes) || modes.length === 0 || !modes.every(isMode))
    throw refuse('modes', modes, "Pass ['vjp'], ['jvp'] or both");
  if (!Number.isSafeInteger(directions) || directions < 1)
    throw refuse('directions', directions, 'Pass how many, 1 or more');
  if (tolerance !== undefined && !(typeof (tolerance as unknown) === 'number' && tolerance > 0))
    throw refuse('tolerance', tolerance, 'Pass a number above 0');
  let next = 0;
  const draw = async (count: number): Promise<Float64Array> => {
    const range = { low: -1, high: 1, dtype: 'float64', device: 'cpu' } as const;
    using drawn = await random.uniform([count], { key: random.foldIn(key, next++), ...range });
    return await drawn.toTypedArray();
  };
  random.foldIn(key, 0); // refuses what is no key
  let done = 0;
  const passes = order === 1 ? 1 : 1 + modes.length;
  const advance = (variables: number): void => {
    onProgress?.({ done: ++done, total: passes * directions * variables });
    signal?.throwIfAborted();
  };
  const kept: Tensor[] = [];
  try {
    signal?.throwIfAborted();
    await check(f, args, order, { modes, directions, tolerance, advance, draw, kept }, what);
  } finally {
    disposeAll(kept);
  }
}

/** @param what the function that is checked, for messages */
async function check(
  f: AnyFunction,
  args: readonly unknown[],
  order: number,
  checking: Checking,
  what: string,
): Promise<void> {
  const { kept } = checking;
  const argnums = args.flatMap((one, at) => (isTree(one) ? [at] : []));
  const variables = await variablesOf(args, argnums);
  if (variables.length === 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: no argument has a floating-point tensor. Pass one by which f is differentiated.`,
    );
  }
  const values = async (by?: Variable, data?: Float64Array): Promise<Values> => {
    const made: Tensor[] = [];
    try {
      const wide = await moved(args, variables, made, by, data);
      return await valuesOf(what, f, wide, argnums);
    } finally {
      for (const one of made) one.dispose();
    }
  };
  const center = await values();
  const finite = center.data.map((elements) =>
    elements.map((one) => (Math.abs(one) === Infinity ? 0 : one)),
  );
  const weights: Float64Array[] = [];
  for (const { length } of center.data) weights.push(await checking.draw(length));
  const dtypes = [...variables.map(({ like }) => like.dtype), ...center.dtypes];
  const of = dtypes.map((dtype) => PRECISION[dtype]?.tolerance ?? 0);
  const bound = checking.tolerance ?? Math.max(...of);
  const epsilon = Math.max(...center.dtypes.map((dtype) => PRECISION[dtype]?.epsilon ?? 0));
  const pulled = checking.modes.includes('vjp')
    ? await pulledBy(f, args, argnums, weights, kept)
    : undefined;
  for (const [at, variable] of variables.entries()) {
    const { data, path } = variable;
    const step = Math.cbrt(epsilon) * data.reduce((most, one) => Math.max(most, Math.abs(one)), 1);
    for (let k = 0; k < checking.directions; k++) {
      const direction = await checking.draw(data.length);
      const along = (by: number): Promise<Values> =>
        values(
          variable,
          data.map((one, i) => one + by * (direction[i] ?? 0)),
        );
      const slope = difference(await along(step), await along(-step), weights, step);
      const rounding = (16 * epsilon * weighed(finite, weights).size) / step;
      const compare = (mode: DerivativeMode, found: number): void => {
        const error = Math.abs(found - slope.sum);
        if (error <= bound * slope.size + rounding) return;
        throw new AutodiffError(
          'GRADIENT_MISMATCH',
          `${what}: ${path}, direction ${k}: ${mode} gives ${found}, and differences give ${slope.sum}: a relative error of ${(error / slope.size).toExponential(1)}, where ${bound} is allowed. Look at the rules of the operations that f uses; kinks near the arguments have no derivative.`,
        );
      };
      const gradient = pulled?.[at];
      if (gradient !== undefined) compare('vjp', weighed([gradient], [direction]).sum);
      if (checking.modes.includes('jvp')) {
        const tangents = await tangentAlong(f, args, variables, variable, direction, kept);
        compare('jvp', weighed(tangents, weights).sum);
      }
      checking.advance(variables.length);
    }
  }
  if (order < 2) return;
  for (const mode of checking.modes) {
    const first =
      mode === 'vjp'
        ? gradientOf(f, argnums, weights, kept)
        : await tangentOf(f, checking, variables);
    await check(first, args, order - 1, checking, `${what}, second order by ${mode}`);
  }
}

/** What a function gives, on the host. */
interface Values {
  readonly data: readonly Float64Array[];
  readonly dtypes: readonly string[];
}

const numbersOf = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

async function variablesOf(
  args: readonly unknown[],
  argnums: readonly number[],
): Promise<readonly Variable[]> {
  const all: Variable[] = [];
  for (const argument of argnums) {
    const leaves = await leavesOf(args[argument], `argument ${argument}`);
    for (const [place, { value, path }] of leaves.entries()) {
      if (!isFloating(value)) continue;
      all.push({ argument, place, path, like: value, data: await numbersOf(value) });
    }
  }
  return all;
}

/** The arguments with their variables in float64, one of them with other elements. */
async function moved(
  args: readonly unknown[],
  variables: readonly Variable[],
  made: Tensor[],
  by?: Variable,
  data?: Float64Array,
): Promise<readonly unknown[]> {
  const wide = await Promise.all(
    variables.map(async (one) => {
      const elements = one === by && data !== undefined ? data : one.data;
      return tensor(elements, { shape: one.like.shape, device: one.like.device });
    }),
  );
  made.push(...wide);
  return withVariables(args, variables, wide);
}

async function withVariables(
  args: readonly unknown[],
  variables: readonly Variable[],
  given: readonly Tensor[],
): Promise<readonly unknown[]> {
  const all = [...args];
  for (const argument of new Set(variables.map((one) => one.argument))) {
    const leaves: unknown[] = (await leavesOf(args[argument], '')).map(({ value }) => value);
    for (const [at, one] of variables.entries())
      if (one.argument === argument) leaves[one.place] = given[at];
    all[argument] = replaced(args[argument], leaves);
  }
  return all;
}

/** The function's value; what it makes on the way is disposed. */
async function valuesOf(
  what: string,
  f: AnyFunction,
  args: readonly unknown[],
  argnums: readonly number[],
): Promise<Values> {
  const call = await taped(what, f, args, { argnums, allowUnused: true, keeps: true });
  try {
    const floating = call.outputs.filter(({ value }) => isFloating(value));
    const data = await Promise.all(floating.map(async ({ value }) => numbersOf(value)));
    return { data, dtypes: floating.map(({ value }) => value.dtype) };
  } finally {
    for (const one of call.handles) one.dispose();
    call.tape.dispose();
  }
}

/** The sum of products, and that of their absolute values. */
function weighed(
  data: readonly Float64Array[],
  weights: readonly Float64Array[],
): { readonly sum: number; readonly size: number } {
  let [sum, size] = [0, 0];
  for (const [at, elements] of data.entries()) {
    for (const [k, one] of elements.entries()) {
      const term = one * (weights[at]?.[k] ?? NaN);
      sum += term;
      size += Math.abs(term);
    }
  }
  return { sum, size };
}

function difference(
  above: Values,
  below: Values,
  weights: readonly Float64Array[],
  step: number,
): { readonly sum: number; readonly size: number } {
  const slopes = above.data.map((elements, at) =>
    elements.map((one, k) => {
      const other = below.data[at]?.[k] ?? NaN;
      // what stays infinite does not change
      return Math.abs(one) === Infinity && one === other ? 0 : (one - other) / (2 * step);
    }),
  );
  return weighed(slopes, weights);
}

/** Numbers as tensors like those of a tree that have a derivative; zeros for its others. */
async function tensorsLike(
  tree: unknown,
  data: readonly Float64Array[],
): Promise<{ readonly tree: unknown; readonly made: readonly Tensor[] }> {
  let next = 0;
  const leaves = await leavesOf(tree, '');
  const made = await Promise.all(
    leaves.map(async ({ value }) => {
      const { shape, dtype, device, size } = value;
      const own = isFloating(value) ? data[next++] : undefined;
      using wide = await tensor(own ?? new Float64Array(size), { shape, device });
      return await wide.cast(dtype);
    }),
  );
  return { tree: replaced(tree, made), made };
}

const disposeAll = (all: Iterable<Disposable>): void => {
  for (const one of all) one[Symbol.dispose]();
};

/** The gradients by all variables, for weights of the value's elements: a function like `f`. */
function gradientOf(
  f: AnyFunction,
  argnums: readonly number[],
  weights: readonly Float64Array[],
  kept: Tensor[],
): (...args: readonly unknown[]) => Promise<unknown> {
  return async (...args) => {
    const options = { argnums, allowUnused: true } as const;
    const { value, pull, dispose } = await vjp(f as never, options as never)(...(args as never[]));
    const { tree, made } = await tensorsLike(value, weights);
    try {
      return await pull(tree as never);
    } finally {
      kept.push(...made);
      disposeAll((await leavesOf(value, '')).map((leaf) => leaf.value));
      dispose();
    }
  };
}

async function pulledBy(
  f: AnyFunction,
  args: readonly unknown[],
  argnums: readonly number[],
  weights: readonly Float64Array[],
  kept: Tensor[],
): Promise<readonly Float64Array[]> {
  const found = await leavesOf(
    await gradientOf(f, argnums, weights, kept)(...args),
    'the gradient',
  );
  const floating = found.filter(({ value }) => isFloating(value));
  const data = await Promise.all(floating.map(async ({ value }) => numbersOf(value)));
  disposeAll(found.map(({ value }) => value));
  return data;
}

/** The tangent of a function along changes of its variables: a function like `f`. */
function tangentAt(
  f: AnyFunction,
  changes: ReadonlyMap<number, readonly Float64Array[]>,
  kept: Tensor[],
): (...args: readonly unknown[]) => Promise<unknown> {
  return async (...args) => {
    const all: Tensor[] = [];
    const tangents: unknown[] = [];
    for (const [at, one] of args.entries()) {
      const data = changes.get(at);
      const like = data && (await tensorsLike(one, data));
      all.push(...(like?.made ?? []));
      tangents.push(like?.tree);
    }
    try {
      const { value, tangent } = await pushed('jvp', f, args as [], tangents as []);
      disposeAll((await leavesOf(value, '')).map((leaf) => leaf.value));
      return tangent;
    } finally {
      kept.push(...all);
    }
  };
}

async function tangentAlong(
  f: AnyFunction,
  args: readonly unknown[],
  variables: readonly Variable[],
  by: Variable,
  direction: Float64Array,
  kept: Tensor[],
): Promise<readonly Float64Array[]> {
  const own = variables.filter(({ argument }) => argument === by.argument);
  const data = own.map((one) => (one === by ? direction : new Float64Array(one.data.length)));
  const found = await leavesOf(
    await tangentAt(f, new Map([[by.argument, data]]), kept)(...args),
    '',
  );
  const floating = found.filter(({ value }) => isFloating(value));
  const all = await Promise.all(floating.map(async ({ value }) => numbersOf(value)));
  disposeAll(found.map(({ value }) => value));
  return all;
}

/** The tangent along one random change of all variables. */
async function tangentOf(
  f: AnyFunction,
  { draw, kept }: Checking,
  variables: readonly Variable[],
): Promise<AnyFunction> {
  const changes = new Map<number, Float64Array[]>();
  for (const { argument, data } of variables) {
    const own = changes.get(argument) ?? [];
    changes.set(argument, own);
    own.push(await draw(data.length));
  }
  return tangentAt(f, changes, kept);
}
