import type { DebugOption } from '@mercer/jit-cache';
import type { Scalars } from '@mercer/kernels';
import { own, type OptionNames, type OptionReader, type ReadOptions } from '@mercer/options';
import { inTurn, keptPlace, type Turn } from '../call-order.js';
import { isOnlyAsked } from '../capture/refusals.js';
import type { Device, LoadOptions, Stream, WorkOptions } from '../device.js';
import { turnBeforeCall } from '../event-loop-turn.js';
import { MercerError } from '../mercer-error.js';
import { roomOn } from '../operations.js';
import { pendingCall, type Pending } from '../pending.js';
import type { StepsPlan } from '../plan-of.js';
import type { Executed } from '../program.js';
import { readOptions } from '../read-options.js';
import { streamFor, waitForRoom } from '../stream-core.js';
import type { Tensor } from '../tensor.js';
import { unlessAborted } from '../unless-aborted.js';
import type { CallStep, CallSteps, LoadedPart, StepPrograms } from './call-steps.js';
import {
  isBehindOthers,
  KnownCall,
  storagesOf,
  type CallPointer,
  type CallTensors,
} from './known-call.js';
import { KnownCalls, layoutKey, type CallKey } from './known-calls.js';

/** What tells a call of an operation from others. */
export interface CallIdentity {
  readonly tensors: CallTensors;
  /** All that checks and plans read but the tensors' layouts: '' where that is nothing; undefined for a call that is not remembered. */
  readonly key: string | undefined;
}

/**
 * An option as part of a key; undefined for what is no text, no boolean and not left out, which the checks refuse.
 */
export function keyPart(value: unknown): string | undefined {
  if (value === undefined) return '-';
  if (typeof value === 'string') return `'${value}'`;
  return typeof value === 'boolean' ? String(value) : undefined;
}

/** What is to be done for arguments that fit together. */
export interface CallPlan<X = undefined> {
  readonly tensors: CallTensors;
  readonly steps: CallSteps;
  /** What the key of the call names by an id that is only unique while it lives. */
  readonly holds?: object | undefined;
  /**
   * Scalars that the kernels take anew in each call like this one, by their names in the kernels; throws where one is refused. Holds no
   * tensor.
   */
  readonly scalars?: ((options: never, args: never) => Scalars | undefined) | undefined;
  /** What the plans of prepared calls are told where this is that of their examples. Holds no tensor of the call. */
  readonly example?: X | undefined;
}

/** Options that are given anew to each prepared call. */
export interface FreeOptions {
  readonly out?: unknown;
  readonly stream?: Stream | undefined;
}

/**
 * An operation, defined once: its calls, its prepared calls and the memory of calls made before follow from this. X is what prepared
 * calls know of their examples beside the kernels; G are the arguments as callers give them.
 */
export interface OperationRules<
  A extends readonly unknown[],
  O extends WorkOptions & LoadOptions,
  X = undefined,
  G extends readonly unknown[] = A,
> {
  /** For messages: the operation, or what an argument says that it is. */
  readonly what: string | ((args: G) => string);
  /** The options of a call. */
  readonly options: OptionNames<O>;
  /** Those of a preparation; default: the same. */
  readonly prepareOptions?: Partial<OptionNames<O>>;
  /** Those that a prepared call takes anew; the others are fixed when it is prepared. */
  readonly freeOptions: Partial<OptionNames<O>> & OptionNames<FreeOptions>;
  /** Reads options with the errors of its package. */
  readonly readOptions?: OptionReader;
  /**
   * The arguments as the rules below take them, and the options, with copies of what a caller can change before the call has read it.
   * Default: as they are. `prepared` as for `identify`.
   */
  snapshot?(args: G, options: O, prepared?: X): readonly [args: A, options: O];
  /**
   * The tensors of a call, by which it has its place among others, and what tells it from others like it. Undefined for arguments that the
   * checks refuse, so that they say why. Asks nothing of what is no tensor.
   */
  identify(args: A, options: O, prepared?: X): CallIdentity | undefined;
  /**
   * The arguments of an ordinary call as its plan takes them, where that takes time: data of the host on its device, formulas
   * rewritten. Tensors that are made are pushed to `made`, whose owner disposes them; such a call is not remembered.
   */
  place?(args: A, options: O, made: Tensor[]): Promise<A>;
  /**
   * Checks the arguments and says what is to be done. @throws MercerError
   *
   * @param prepared of a prepared call what the plan of its examples says; 'example' for that plan
   */
  plan(args: A, options: O, prepared?: X | 'example'): CallPlan<X>;
  /** What an ordinary call does once it is enqueued, before it gives its results. What it throws ends the call. */
  finish?(results: readonly Tensor[], options: O, args: A): Promise<void> | undefined;
}

/** A prepared call: it enqueues, and gives the results at once. */
export interface PreparedCalls<A extends readonly unknown[]> {
  (args: A, options?: object): Tensor[];
  /** The same with a routine that waits: it resolves when all is enqueued. */
  readonly whenEnqueued: (args: A, options?: object) => Promise<Tensor[]>;
  /** The plans of the programs that calls like the examples launch. */
  readonly plans: readonly unknown[];
  /** The plan that its results tell, where they tell one. */
  readonly plan: object | undefined;
  /** Returns what was placed on the device for its programs. */
  readonly dispose: () => void;
}

/** A call that was planned and loaded. */
interface Bound {
  readonly call: KnownCall;
  readonly scalars: CallPlan['scalars'];
}

/** A call that can be told from others, and the one like it, if there was one. */
interface Identified {
  readonly tensors: CallTensors;
  readonly key: CallKey | undefined;
  readonly device: Device;
  readonly bound: Bound | undefined;
}

/** A call that is about to be enqueued. */
interface BoundCall {
  readonly call: KnownCall;
  readonly tensors: CallTensors;
  readonly queue: Stream;
  readonly numbers: Scalars | undefined;
}

/** A call whose options and arguments were read. */
interface ReadCall<A, O> {
  readonly what: string;
  readonly args: A;
  readonly options: O;
}

/**
 * An operation on tensors. A call is checked and planned, its kernels are loaded, its results are made and the kernels launched. A call
 * like one before is only launched.
 */
export class Operation<
  A extends readonly unknown[],
  O extends WorkOptions & LoadOptions,
  X = undefined,
  G extends readonly unknown[] = A,
> {
  readonly #rules: Required<Omit<OperationRules<A, O, X, G>, 'finish'>>;
  readonly #finish: OperationRules<A, O, X, G>['finish'];
  readonly #readOptions: ReadOptions<O>;
  readonly #calls = new KnownCalls<Bound>();

  constructor(rules: OperationRules<A, O, X, G>) {
    const given = own(rules, 'prepareOptions', 'readOptions', 'snapshot', 'place', 'finish');
    this.#finish = given.finish;
    this.#rules = {
      ...rules,
      prepareOptions: given.prepareOptions ?? rules.options,
      readOptions: given.readOptions ?? readOptions,
      snapshot: given.snapshot ?? ((args, options) => [args as readonly unknown[] as A, options]),
      place: given.place ?? ((args) => Promise.resolve(args)),
    };
    this.#readOptions = this.#rules.readOptions.of(rules.options);
  }

  /**
   * Resolves to the results when they are enqueued.
   *
   * @throws MercerError INVALID_ARGUMENT for unknown options, and as the operation's checks do; the compiler's or the loader's error;
   * the signal's reason. Nothing is written then
   */
  async call(called: G, given: O | undefined): Promise<Tensor[]> {
    return this.start(called, given);
  }

  /** The same for an operation with one result. */
  one(called: G, given: O | undefined): Pending<Tensor> {
    return pendingCall(() => {
      const started = this.start(called, given);
      return started instanceof Promise ? started.then(only) : only(started);
    });
  }

  /** As {@link call}; the results themselves where the call is like one before and nothing has to be waited for. @throws as it rejects */
  start(called: G, given: O | undefined): Tensor[] | Promise<Tensor[]> {
    const rules = this.#rules;
    const what = this.#what(called);
    const [args, options] = rules.snapshot(called, this.#readOptions(what, given));
    const finish = this.#finish;
    const started = this.#start({ what, args, options });
    if (finish === undefined) return started;
    if (!(started instanceof Promise)) {
      return finish(started, options, args)?.then(() => started) ?? started;
    }
    return started.then(async (results) => {
      await finish(results, options, args);
      return results;
    });
  }

  #start(call: ReadCall<A, O>): Tensor[] | Promise<Tensor[]> {
    const { what, args, options } = call;
    const { stream, debug, signal } = options;
    const known = this.#identified(args, options, this.#calls, undefined, debug);
    signal?.throwIfAborted();
    const turn = turnBeforeCall();
    if (known?.bound === undefined || turn !== undefined) return this.#inTurn(call, known, turn);
    const queue = streamFor(known.device, stream, what);
    if (known.bound.call.mayWait || !queue.hasRoom() || isBehindOthers(known.tensors)) {
      return this.#inTurn(call, known);
    }
    return again(known, call, queue) ?? this.#inTurn(call, { ...known, bound: undefined });
  }

  /**
   * A call that may have to wait: for its kernels, for room, in a routine, for calls that were made earlier and are not enqueued yet, or for a
   * turn of the event loop.
   */
  async #inTurn(
    call: ReadCall<A, O>,
    known: Identified | undefined,
    turn?: Promise<void>,
  ): Promise<Tensor[]> {
    const { stream, signal } = call.options;
    if (known === undefined) return this.#planned(call, known);
    return inTurn(...storagesOf(known.tensors), signal, async (own) => {
      const inPlace = <T>(work: () => T): T => own.run(work);
      if (turn !== undefined) await unlessAborted(turn, signal);
      if (known.bound !== undefined) {
        const queue = streamFor(known.device, stream, call.what);
        if (!queue.hasRoom()) await waitForRoom(queue, signal);
        const results = inPlace(() => again(known, call, queue));
        if (results !== undefined) return results;
      }
      return this.#planned(call, known, inPlace);
    });
  }

  async #planned(
    { what, args, options }: ReadCall<A, O>,
    known: Identified | undefined,
    inPlace = keptPlace(),
  ): Promise<Tensor[]> {
    const rules = this.#rules;
    options.signal?.throwIfAborted();
    const made: Tensor[] = [];
    try {
      const placed = await inPlace(() => rules.place(args, options, made));
      const plan = inPlace(() => rules.plan(placed, options));
      const { bound, queue, isInterpreted } = await load(what, plan, options, made);
      const numbers = scalarsOf(bound, options, placed);
      const { call } = bound;
      const results = await inPlace(() =>
        call.hasRoutine
          ? call.enqueueChecked(plan.tensors, queue, numbers, options)
          : call.launchChecked(plan.tensors, queue, numbers),
      );
      // The next call may have compiled kernels.
      if (known?.key !== undefined && made.length === 0 && !isInterpreted && !isOnlyAsked()) {
        this.#calls.set(plan.steps.device, known.key, bound);
      }
      return results;
    } finally {
      for (const one of made) one.dispose();
    }
  }

  /**
   * Compiles and loads what a call with such arguments needs; tensors are examples. What it gives takes all arguments for which the
   * same kernels are launched.
   *
   * @throws as `call`; what it gives throws INVALID_ARGUMENT where other kernels are needed
   */
  async prepare(examples: G, given: O | undefined): Promise<PreparedCalls<G>> {
    const rules = this.#rules;
    const what = this.#what(examples);
    // what it gives is called later, when the kernels have to be there
    if (isOnlyAsked()) throw new TypeError(`${what}.prepare while kernels are only asked for`);
    const names = rules.prepareOptions as OptionNames<O>;
    // Those of a call too: what a preparation does not take is not given.
    const none = rules.readOptions(what, undefined, rules.options);
    const read = { ...none, ...rules.readOptions(`${what}.prepare`, given, names) };
    const [args, first] = rules.snapshot(examples, read);
    const fixed: O = { ...first, out: undefined, stream: undefined };
    const { debug, signal } = fixed;
    signal?.throwIfAborted();
    const planned = rules.plan(args, first, 'example');
    const { tensors, holds, example } = own(planned, 'tensors', 'holds', 'example');
    const { device: home, steps: exampleSteps } = planned.steps;
    const loaded = new Map<string, readonly LoadedPart[]>();
    const wanted: StepPrograms[] = [];
    const made: Tensor[] = [];
    const dispose = (): void => {
      for (const one of made) one.dispose();
    };
    try {
      wanted.push(...exampleSteps, ...planned.steps.others);
      const parts = await all(wanted.map((one) => one.load({ debug, signal }, made)));
      for (const [at, { program }] of wanted.entries()) loaded.set(program, parts[at] ?? []);
      signal?.throwIfAborted();
    } catch (error) {
      dispose();
      throw error;
    }
    const preparedFor = labels(tensors);
    // What their keys name lives as long as they do.
    const kept = { loaded, holds: [holds, ...wanted.map((one) => own(one, 'holds').holds)] };
    const calls = new KnownCalls<Bound>();
    const readFree = rules.readOptions.of(rules.freeOptions as OptionNames<O>);
    const bound = (called: G, callOptions: object | undefined): BoundCall => {
      const given =
        callOptions === undefined ? fixed : readFree(what, callOptions as O, { ...fixed });
      const { stream } = given;
      const [others, options] = rules.snapshot(called, given, example);
      const known = this.#identified(others, options, calls, example);
      if (known?.bound?.call.isLike(known.tensors) === true) {
        const { call } = known.bound;
        const queue = streamFor(known.device, stream, what);
        const numbers = scalarsOf(known.bound, options, others);
        return { call, tensors: known.tensors, queue, numbers };
      }
      const plan = rules.plan(others, options, example);
      const { device, steps } = plan.steps;
      const queue = streamFor(device, stream, what);
      const parts = steps.flatMap(({ program }) => {
        const found = kept.loaded.get(program);
        return found === undefined ? [] : [found];
      });
      if (device !== home || parts.length < steps.length) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: prepared for ${preparedFor}, called with ${labels(plan.tensors)}, which needs other kernels. Prepare another for tensors that lie like these, or call contiguous() first.`,
        );
      }
      const made = bind(plan, parts);
      if (known?.key !== undefined) calls.set(device, known.key, made);
      const numbers = scalarsOf(made, options, others);
      return { call: made.call, tensors: plan.tensors, queue, numbers };
    };
    const watch = { debug };
    const run = (called: G, callOptions?: object): Tensor[] => {
      const { call, tensors, queue, numbers } = bound(called, callOptions);
      return isBehindOthers(tensors)
        ? call.launchBehind(tensors, queue, numbers, watch)
        : call.launchChecked(tensors, queue, numbers, watch);
    };
    const whenEnqueued = async (called: G, callOptions?: object): Promise<Tensor[]> => {
      const { call, tensors, queue, numbers } = bound(called, callOptions);
      return callInTurn(tensors, undefined, () =>
        call.enqueueChecked(tensors, queue, numbers, watch),
      );
    };
    const ofSteps = exampleSteps.map(({ program }) => loaded.get(program) ?? []);
    const plans = [...new Set(ofSteps.flat())].map(({ program }) => program.plan);
    const [plan] = plansOf(planned.steps, ofSteps);
    return Object.assign(run, { whenEnqueued, plans, plan, dispose });
  }

  #what(args: G): string {
    const { what } = this.#rules;
    return typeof what === 'string' ? what : what(args);
  }

  #identified(
    args: A,
    options: O,
    calls: KnownCalls<Bound>,
    prepared?: X,
    debug?: DebugOption,
  ): Identified | undefined {
    const identity = this.#rules.identify(args, options, prepared);
    if (identity === undefined) return undefined;
    const { tensors } = identity;
    // One tensor for two results is refused, which layouts do not tell.
    if (hasTwice(tensors.outs)) return undefined;
    const layouts = layoutKey(tensors);
    if (layouts === undefined) return undefined;
    const device = (tensors.inputs[0] ?? tensors.outs[0])?.device;
    if (device === undefined) return undefined;
    if (identity.key === undefined || (debug ?? false) !== false) {
      return { device, tensors, key: undefined, bound: undefined };
    }
    const key = identity.key === '' ? layouts : `${identity.key}|${layouts}`;
    return { device, tensors, key, bound: calls.get(device, key) };
  }
}

/** What `call` gives where a call like one before is launched; undefined where it must be checked again. */
function again(
  { bound, tensors }: Identified,
  { args, options }: ReadCall<readonly unknown[], LoadOptions>,
  queue: Stream,
): Tensor[] | Promise<Tensor[]> | undefined {
  if (bound?.call.mayWait !== true) {
    return bound?.call.launch(tensors, queue, scalarsOf(bound, options, args));
  }
  const { call } = bound;
  if (!call.isLike(tensors)) return undefined;
  return call.enqueueChecked(tensors, queue, scalarsOf(bound, options, args), options);
}

function hasTwice(outs: CallTensors['outs']): boolean {
  if (outs.length < 2) return false;
  const given = outs.filter((out) => out !== undefined);
  return new Set(given).size < given.length;
}

function bind(plan: CallPlan<unknown>, loaded: readonly (readonly LoadedPart[])[]): Bound {
  const { steps: call, holds, scalars } = own(plan, 'steps', 'holds', 'scalars');
  const { device, results, scratch, steps } = call;
  const launches = steps.flatMap((step, at) => {
    const parts = loaded[at] ?? [];
    const given = step.launches(parts);
    return given.flatMap((launch, n) => {
      const part = parts[n];
      if (part === undefined) return [];
      const names = ['pointers', 'scalars', 'zeroed', 'routine'] as const;
      const { pointers, scalars: ofCall, zeroed, routine } = own(launch, ...names);
      const { program, tables, scalars: ofProgram } = part;
      return [
        {
          program,
          pointers: { ...pointers, ...heldPointers(tables) },
          scalars: { ...ofCall, ...ofProgram },
          zeroed,
          routine,
        },
      ];
    });
  });
  return {
    call: new KnownCall({
      device,
      results,
      scratch,
      launches,
      holds,
      plans: plansOf(call, loaded),
    }),
    scalars,
  };
}

/** The plans that results tell, by place: those of a step that tells, else that of all steps together. */
function plansOf(
  { device, results, steps }: CallSteps,
  loaded: readonly (readonly LoadedPart[])[],
): (object | undefined)[] {
  const at = steps.findIndex(({ tells }) => tells !== undefined);
  const told = steps[at]?.tells?.(loaded[at] ?? []) ?? [];
  const others = results.every((_, place) => told[place] !== undefined)
    ? undefined
    : planOfSteps(device, steps, loaded);
  return results.map((_, place) => told[place]?.program.plan ?? others);
}

/** Undefined where a call has nothing to do. */
function planOfSteps(
  { kind }: Device,
  steps: readonly CallStep[],
  loaded: readonly (readonly LoadedPart[])[],
): (StepsPlan & Executed) | undefined {
  if (steps.length === 0) return undefined;
  const kernels = loaded.map((parts) => parts.flatMap(({ program }) => program.steps));
  const names = steps.flatMap(({ program }, at) => {
    const own = kernels[at] ?? [];
    // a routine has a name alone
    return own.length === 0 ? [program] : own.map(({ kernel }) => kernel.kernel.name);
  });
  const executors = kernels.flat().flatMap(({ kernel }) => kernel.executor ?? []);
  const executor = executors.find((one) => one === 'interpreted') ?? executors[0];
  const plan: StepsPlan = { kind, summary: names.join(', ') };
  return Object.freeze(executor === undefined ? plan : { ...plan, executor });
}

/** Waits for all, so that nothing is made behind the first failure. @throws that */
async function all<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

const heldPointers = (tables: LoadedPart['tables']): Record<string, CallPointer> =>
  Object.fromEntries(
    Object.entries(tables).map(([name, tensor]) => [name, { kind: 'held', tensor, offset: 0 }]),
  );

const scalarsOf = (
  { scalars }: Bound,
  options: object,
  args: readonly unknown[],
): Scalars | undefined => scalars?.(options as never, args as never);

/** Loads what a call needs, and waits for room. What is made for it is pushed to `made`, whose owner disposes it. */
async function load(
  what: string,
  plan: CallPlan<unknown>,
  { stream, debug, signal }: WorkOptions & LoadOptions,
  made: Tensor[],
): Promise<{ readonly bound: Bound; readonly queue: Stream; readonly isInterpreted: boolean }> {
  const { device, steps } = plan.steps;
  const queue = await roomOn(device, { stream, signal }, what);
  const loaded = await all(
    steps.map((step) => step.load({ debug, signal, values: step.values }, made)),
  );
  await waitForRoom(queue, signal);
  const kernels = loaded.flat().flatMap(({ program }) => program.steps);
  const isInterpreted = kernels.some(({ kernel }) => kernel.executor === 'interpreted');
  return { bound: bind(plan, loaded), queue, isInterpreted };
}

/**
 * Loads and launches what was written down, for a call that is none of an `Operation`, such as one whose results have sizes that it
 * must first compute.
 *
 * @throws as `Operation.call` does
 */
export async function launchSteps(
  what: string,
  plan: Pick<CallPlan, 'tensors' | 'steps'>,
  options: WorkOptions & LoadOptions,
): Promise<Tensor[]> {
  return callInTurn(plan.tensors, options.signal, async (own) => {
    const made: Tensor[] = [];
    try {
      const { bound, queue } = await load(what, plan, options, made);
      return own.run(() => bound.call.launchChecked(plan.tensors, queue));
    } finally {
      for (const one of made) one.dispose();
    }
  });
}

function labels({ inputs, outs }: CallTensors): string {
  const names = [...inputs, ...outs].flatMap((one) =>
    one === undefined ? [] : [`${one.label} with strides [${one.strides.join(', ')}]`],
  );
  return names.join(', ');
}

/** What {@link operationFunction} makes a function of. */
interface Callable {
  one(args: never, given: undefined): Pending<Tensor>;
  prepare(args: never, given: undefined): Promise<PreparedCalls<never>>;
}

/** Work of a call that is none of an `Operation`, in its turn among calls that touch the same tensors. @throws the signal's reason */
function callInTurn<T>(
  tensors: CallTensors,
  signal: AbortSignal | undefined,
  work: (own: Turn) => Promise<T>,
): Promise<T> {
  return inTurn(...storagesOf(tensors), signal, work);
}

/** The result of an operation that has one. */
export function only([result]: readonly Tensor[]): Tensor {
  if (result === undefined) throw new Error('an operation has a result');
  return result;
}

/** As `prepare` of an operation with one result. @throws as it does */
export async function prepareOne<G extends readonly unknown[], O>(
  operation: { prepare(examples: G, given: O | undefined): Promise<PreparedCalls<G>> },
  examples: G,
  options: O | undefined,
): Promise<(args: G, options?: object) => Tensor> {
  const prepared = await operation.prepare(examples, options);
  return (args, free) => only(prepared(args, free));
}

/** An operation with one result as a function of `arity` arguments and options, with its `prepare`. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the face, which types the arguments
export function operationFunction<F>(operation: Callable, arity: number): F {
  const run = (...given: readonly unknown[]): Pending<Tensor> =>
    operation.one(given.slice(0, arity) as never, given[arity] as never);
  const prepare = async (...given: readonly unknown[]): Promise<unknown> => {
    const prepared = await prepareOne(
      operation,
      given.slice(0, arity) as never,
      given[arity] as never,
    );
    return (...others: readonly unknown[]) =>
      prepared(others.slice(0, arity) as never, others[arity] as never);
  };
  return Object.assign(run, { prepare }) as F;
}
