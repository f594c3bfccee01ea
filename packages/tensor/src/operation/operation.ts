import type { Scalars } from '@mercer/kernels';
import { own, type OptionNames } from '@mercer/options';
import type { Device, LoadOptions, Stream, WorkOptions } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { roomOn } from '../operations.js';
import type { LoadedProgram } from '../program.js';
import { pending, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { streamFor, waitForRoom } from '../stream-core.js';
import type { Tensor } from '../tensor.js';
import type { CallSteps } from './call-steps.js';
import { KnownCall, type CallTensors } from './known-call.js';
import { KnownCalls } from './known-calls.js';
import { layoutKey } from './layout-key.js';

/** What tells a call of an operation from others. */
export interface CallIdentity {
  readonly tensors: CallTensors;
  /** All that checks and plans read but the tensors' layouts. */
  readonly key: string;
}

/**
 * An option as part of a key; undefined for what is no text, no boolean and not left out, which the checks refuse.
 */
export function keyPart(value: unknown): string | undefined {
  if (typeof value === 'string') return `'${value}'`;
  return value === undefined || typeof value === 'boolean' ? String(value) : undefined;
}

/** What is to be done for arguments that fit together. */
export interface CallPlan {
  readonly tensors: CallTensors;
  readonly steps: CallSteps;
  /** What the key of the call names by an id that is only unique while it lives. */
  readonly holds?: object | undefined;
  /** Scalars that the kernels take anew in each call like this one, by their names in the kernels. Holds no tensor. */
  readonly scalars?: ((options: never) => Scalars) | undefined;
}

/** Options that are given anew to each prepared call. */
export interface FreeOptions {
  readonly out?: Tensor | undefined;
  readonly stream?: Stream | undefined;
}

/** An operation, defined once: its calls, its prepared calls and the memory of calls made before follow from this. */
export interface OperationRules<A extends readonly unknown[], O extends WorkOptions & LoadOptions> {
  /** For messages. */
  readonly what: string;
  /** The options of a call. */
  readonly options: OptionNames<O>;
  /** Those that a prepared call takes anew; the others are fixed when it is prepared. */
  readonly freeOptions: Partial<OptionNames<O>> & OptionNames<FreeOptions>;
  /** The arguments and options with copies of what a caller can change before the call has read it. */
  snapshot?(args: A, options: O): readonly [args: A, options: O];
  /** Undefined for arguments that the checks refuse, so that they say why. Asks nothing of what is no tensor. */
  identify(args: A, options: O): CallIdentity | undefined;
  /** Checks the arguments and says what is to be done. @throws MercerError */
  plan(args: A, options: O): CallPlan;
}

/** A prepared call: it enqueues, and gives the results at once. */
export type PreparedCalls<A extends readonly unknown[]> = (args: A, options?: object) => Tensor[];

/** A call that was planned and loaded. */
interface Bound {
  readonly call: KnownCall;
  readonly scalars: CallPlan['scalars'];
}

/** A call that can be told from others, and the one like it, if there was one. */
interface Identified extends CallIdentity {
  readonly device: Device;
  readonly bound: Bound | undefined;
}

/**
 * An operation on tensors. A call is checked and planned, its kernels are loaded, its results are made and the kernels launched. A call
 * like one before is only launched.
 */
export class Operation<A extends readonly unknown[], O extends WorkOptions & LoadOptions> {
  readonly #rules: OperationRules<A, O>;
  readonly #calls = new KnownCalls<Bound>();

  constructor(rules: OperationRules<A, O>) {
    this.#rules = rules;
  }

  /**
   * Resolves to the results when they are enqueued.
   *
   * @throws MercerError INVALID_ARGUMENT for unknown options, and as the operation's checks do; the compiler's or the loader's error;
   * the signal's reason. Nothing is written then
   */
  async call(called: A, given: O | undefined): Promise<Tensor[]> {
    const { what, options: names } = this.#rules;
    const [args, options] = this.#snapshot(called, readOptions(what, given, names));
    const { stream, debug, signal } = options;
    const known =
      (debug ?? false) === false ? this.#identified(args, options, this.#calls) : undefined;
    if (known?.bound !== undefined) {
      if (hasLaterReads(known.tensors)) await laterReadsLaunched(known.tensors);
      const queue = await roomOn(known.device, { stream, signal }, what);
      const results = launchAgain(known.bound, known.tensors, queue, options);
      if (results !== undefined) return results;
    }
    const plan = this.#rules.plan(args, options);
    const { device, steps } = plan.steps;
    if (hasLaterReads(plan.tensors)) await laterReadsLaunched(plan.tensors);
    const queue = await roomOn(device, { stream, signal }, what);
    const programs: LoadedProgram<unknown>[] = [];
    for (const { load, values } of steps) programs.push(await load({ debug, signal, values }));
    await waitForRoom(queue, signal);
    const bound = bind(plan, programs);
    const results = bound.call.launchChecked(plan.tensors, queue, scalarsOf(bound, options));
    // The next call may have compiled kernels.
    if (known !== undefined && !programs.some(isInterpreted)) {
      this.#calls.set(device, known.key, bound);
    }
    return results;
  }

  /**
   * Compiles and loads what a call with such arguments needs; tensors are examples. What it gives takes all arguments for which the
   * same kernels are launched.
   *
   * @throws as `call`; what it gives throws INVALID_ARGUMENT where other kernels are needed
   */
  async prepare(examples: A, given: O | undefined): Promise<PreparedCalls<A>> {
    const { what, options: names, freeOptions } = this.#rules;
    const read = readOptions(`${what}.prepare`, given, names);
    const [args, whole] = this.#snapshot(examples, read);
    const fixed: O = { ...whole, out: undefined };
    const { debug, signal } = fixed;
    signal?.throwIfAborted();
    const { steps: example, tensors, holds } = this.#rules.plan(args, whole);
    const { device: home } = example;
    const programs = new Map<string, LoadedProgram<unknown>>();
    for (const { program, load } of example.steps) {
      programs.set(program, await load({ debug, signal }));
    }
    signal?.throwIfAborted();
    const preparedFor = labels(tensors);
    // What their keys name lives as long as they do.
    const kept = { programs, holds };
    const calls = new KnownCalls<Bound>();
    return (called, callOptions) => {
      const free = readOptions(
        what,
        callOptions as O & FreeOptions,
        freeOptions as OptionNames<O & FreeOptions>,
      );
      const { out, stream } = free;
      const all: O = { ...fixed, ...thoseGiven(free), out, stream };
      const [others, options] = this.#snapshot(called, all);
      const known = this.#identified(others, options, calls);
      if (known?.bound !== undefined) {
        const queue = streamFor(known.device, stream, what);
        const results = launchAgain(known.bound, known.tensors, queue, options);
        if (results !== undefined) return results;
      }
      const plan = this.#rules.plan(others, options);
      const { device, steps } = plan.steps;
      const queue = streamFor(device, stream, what);
      const loaded = steps.flatMap(({ program }) => kept.programs.get(program) ?? []);
      if (device !== home || loaded.length < steps.length) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: prepared for ${preparedFor}, called with ${labels(plan.tensors)}, which needs other kernels. Prepare another for tensors that lie like these, or call contiguous() first.`,
        );
      }
      const bound = bind(plan, loaded);
      if (known !== undefined) calls.set(device, known.key, bound);
      return bound.call.launchChecked(plan.tensors, queue, scalarsOf(bound, options));
    };
  }

  #snapshot(args: A, options: O): readonly [args: A, options: O] {
    return this.#rules.snapshot?.(args, options) ?? [args, options];
  }

  #identified(args: A, options: O, calls: KnownCalls<Bound>): Identified | undefined {
    const identity = this.#rules.identify(args, options);
    if (identity === undefined) return undefined;
    const { tensors } = identity;
    const layouts = layoutKey(tensors);
    if (layouts === undefined) return undefined;
    const device = (tensors.inputs[0] ?? tensors.outs[0])?.device;
    if (device === undefined) return undefined;
    const key = `${identity.key}|${layouts}`;
    return { device, tensors, key, bound: calls.get(device, key) };
  }
}

const thoseGiven = <O extends object>(options: O): Partial<O> =>
  Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Partial<O>;

function bind(plan: CallPlan, programs: readonly LoadedProgram<unknown>[]): Bound {
  const { steps: call, holds, scalars } = own(plan, 'steps', 'holds', 'scalars');
  const { device, results, scratch, steps } = call;
  const launches = steps.flatMap((step, at) => {
    const program = programs[at];
    if (program === undefined) return [];
    const { pointers, scalars: fixed, zeroed } = own(step, 'pointers', 'scalars', 'zeroed');
    return [{ program, pointers, scalars: fixed, zeroed }];
  });
  return { call: new KnownCall({ device, results, scratch, launches, holds }), scalars };
}

const scalarsOf = ({ scalars }: Bound, options: object): Scalars | undefined =>
  scalars?.(options as never);

const launchAgain = (
  bound: Bound,
  tensors: CallTensors,
  queue: Stream,
  options: object,
): Tensor[] | undefined => bound.call.launch(tensors, queue, scalarsOf(bound, options));

const hasLaterReads = ({ outs }: CallTensors): boolean =>
  outs.some((out) => out !== undefined && out.storage.hasLaterReads);

/** What was to read the outputs reads them before they are written. */
const laterReadsLaunched = ({ outs }: CallTensors): Promise<unknown> =>
  Promise.all(outs.flatMap((out) => out?.storage.launchLaterReads() ?? []));

const isInterpreted = ({ steps }: LoadedProgram<unknown>): boolean =>
  steps.some(({ kernel }) => kernel.executor === 'interpreted');

function labels({ inputs, outs }: CallTensors): string {
  const names = [...inputs, ...outs].flatMap((one) =>
    one === undefined ? [] : [`${one.label} with strides [${one.strides.join(', ')}]`],
  );
  return names.join(', ');
}

/** What {@link operationFunction} makes a function of. */
interface Callable {
  call(args: never, given: undefined): Promise<Tensor[]>;
  prepare(args: never, given: undefined): Promise<PreparedCalls<never>>;
}

/** An operation with one result as a function of `arity` arguments and options, with its `prepare`. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the face, which types the arguments
export function operationFunction<F>(operation: Callable, arity: number): F {
  const run = (...given: readonly unknown[]): Pending<Tensor> =>
    pending(operation.call(given.slice(0, arity) as never, given[arity] as never).then(only));
  const prepare = async (...given: readonly unknown[]): Promise<unknown> => {
    const prepared = await operation.prepare(given.slice(0, arity) as never, given[arity] as never);
    return (...others: readonly unknown[]) =>
      only(prepared(others.slice(0, arity) as never, others[arity] as never));
  };
  return Object.assign(run, { prepare }) as F;
}

function only([result]: readonly Tensor[]): Tensor {
  if (result === undefined) throw new Error('an operation has a result');
  return result;
}
