import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type SignalOption, type Tensor } from '@mercer/tensor';
import {
  formatShape,
  isTracedKnown,
  readOptions,
  SIGNAL_OPTION,
  Traced,
  whenKnown,
  type KnownValue,
} from '@mercer/tensor/operation';
import { checkBooleans, checkFunction } from './grad.js';
import { Forward, noteUse } from './trace/forward.js';
import { alone, orZeros, released } from './trace/handed.js';
import { closedOver } from './trace/recording.js';
import { leavesOf, replaced, type Leaf } from './tree.js';
import { heardInTraces } from './heard-in-traces.js';

/** A function that gives a tensor, or objects and arrays of tensors. */
export type TreeFunction<A extends readonly unknown[], R> = (...args: A) => R | PromiseLike<R>;

/** A value with the change that changes of the arguments make. */
export interface ValueAndTangent<R> {
  readonly value: R;
  readonly tangent: R;
}

/** Options of {@link jvp}. Calls heed the signal in front of every operation. */
export interface JvpOptions extends SignalOption {
  /** Names the operation whose result or tangent is the first to have NaN. It reads every result, so it is slow. Default: false. */
  readonly detectNaN?: boolean | undefined;
}

const JVP_OPTIONS: OptionNames<JvpOptions> = { ...SIGNAL_OPTION, detectNaN: true };

/** For each argument a change of it, or undefined for one that does not change. */
export type ChangesOf<A extends readonly unknown[]> = { readonly [K in keyof A]: A[K] | undefined };

/**
 * The value of a function with its change along changes of its arguments: the product of the matrix of derivatives with a tangent, computed forwards with the value.
 *
 * ```ts
 * import { jvp } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([1, 2, 3], where);
 * const direction = await tensor([1, 0, 10], where);
 * const { tangent } = await jvp(async (w: Tensor<'float32'>): Promise<Tensor> => w.square())([x], [direction]);
 * console.log(await tangent.toNested()); // [ 2, 0, 60 ]
 * ```
 *
 * @param f gives a tensor, or objects and arrays of tensors
 * @returns the value and its tangent, like what `f` gives, which the caller disposes; a tangent is 0 where nothing has influence
 * @throws MercerError SHAPE_MISMATCH where a tangent is not like its argument; NOT_DIFFERENTIABLE, ESCAPED, INVALID_ARGUMENT, DISPOSED; NOT_A_NUMBER with `detectNaN`; what `f` throws
 */
export function jvp<A extends readonly unknown[], R>(
  f: TreeFunction<A, R>,
  options?: JvpOptions,
): (primals: A, tangents: ChangesOf<A>) => Promise<ValueAndTangent<R>> {
  checkFunction('jvp', f);
  const given = readOptions('jvp', options, JVP_OPTIONS);
  checkBooleans('jvp', given, ['detectNaN']);
  return heardInTraces(async (primals, tangents) => pushed('jvp', f, primals, tangents, given));
}

/** Read from no prototype. */
const NO_OPTIONS = readOptions('jvp', undefined, JVP_OPTIONS);

/** The same for a function that calls itself something else. */
export async function pushed<A extends readonly unknown[], R>(
  what: string,
  f: TreeFunction<A, R>,
  primals: A,
  tangents: ChangesOf<A>,
  { detectNaN, signal }: JvpOptions = NO_OPTIONS,
): Promise<ValueAndTangent<R>> {
  checkLists(what, primals, tangents);
  const trace = new Forward(what, detectNaN, signal);
  let values: readonly Tensor[] = [];
  try {
    const given = await Promise.all(
      primals.map(async (one, at) => {
        if (tangents[at] === undefined) return one;
        const leaves = await leavesOf(one, `${what}: argument ${at}`);
        const changes = await leavesOf(tangents[at], `${what}: tangent ${at}`);
        checkAlike(leaves, changes, `${what}: tangent ${at}`);
        return replaced(
          one,
          leaves.map(({ value }, k) => trace.input(value, changes[k]?.value)),
        );
      }),
    );
    const result = await f(...(given as readonly unknown[] as A));
    const leaves = await leavesOf(result, `${what}: the value`);
    await trace.close();
    await trace.assertNoNaN();
    const own = leaves.map(({ value }) => ofTrace(value, trace));
    values = own.map(({ primal }) => trace.taken(primal));
    noteUse(own.map(({ change }) => change));
    const changes = await Promise.all(own.map(async ({ change }) => whenKnown(change)));
    const known = changes.map(({ made }) => made as KnownValue | undefined);
    if (known.some((one) => isTracedBy(trace, one))) throw closedOver(`${what}: a custom rule`);
    const found = await released(known, values, trace.tangents);
    await trace.tangents.close();
    trace.dispose();
    const alike = await alone(found);
    const all = await Promise.all(values.map(async (one, at) => orZeros(alike[at], one)));
    return { value: replaced(result, values) as R, tangent: replaced(result, all) as R };
  } catch (error) {
    for (const one of values) one.dispose();
    throw error;
  } finally {
    await trace.close();
    await trace.tangents.close();
    trace.dispose();
  }
}

/** Whether a trace, maybe below others, knows the value. */
function isTracedBy(trace: Forward, value: unknown): boolean {
  return isTracedKnown(value) && (value.trace === trace || isTracedBy(trace, value.primal));
}

/** A value as its trace knows it. */
function ofTrace(
  value: Tensor,
  trace: Forward,
): { readonly primal: Tensor; readonly change: unknown } {
  const given: unknown = value;
  if (!(given instanceof Traced) || given.trace !== trace)
    return { primal: value, change: undefined };
  return { primal: given.primal, change: given.record };
}

export function checkLists(what: string, primals: unknown, tangents: unknown): void {
  if (Array.isArray(primals) && Array.isArray(tangents) && primals.length === tangents.length)
    return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the arguments are ${describeValue(primals)} and their tangents ${describeValue(tangents)}. Pass two arrays of one length: the arguments, and for each its tangent or undefined.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH where changes are not like the tensors that change */
export function checkAlike(leaves: readonly Leaf[], changes: readonly Leaf[], path: string): void {
  if (leaves.length !== changes.length) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${path} has ${changes.length} tensors, and its argument ${leaves.length}. Pass a tangent for each.`,
    );
  }
  for (const [at, { value }] of leaves.entries()) {
    const change = changes[at]?.value;
    if (
      change?.shape.length === value.shape.length &&
      change.shape.every((n, k) => n === value.shape[k])
    )
      continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${changes[at]?.path ?? path} has shape ${formatShape(change?.shape ?? [])}, and its argument ${formatShape(value.shape)}. Pass a tangent of the argument's shape.`,
    );
  }
}
