import { own } from '@mercer/options';
import { isTensor, type MercerError, type Tensor } from '@mercer/tensor';
import {
  flatArguments,
  isKnownResult,
  isTracedKnown,
  mapArguments,
  modifiedError,
  nestedLike,
  nextLevel,
  notDifferentiable,
  writesTraced,
  pending,
  pendingOrThere,
  promisesTraced,
  thereOf,
  Traced,
  TracedResult,
  type Composition,
  type DerivativeRule,
  type KnownResult,
  type Primitive,
  type Trace,
  type Value,
} from '@mercer/tensor/operation';
import { AutodiffError } from '../autodiff-error.js';
import { assertNoNaN } from './no-nan.js';
import { isPrimal, isThenable } from './values.js';

/** A call that a trace records. */
export interface RecordedCall {
  readonly primitive: Primitive;
  /** As they were given: values of this trace among them. */
  readonly args: readonly unknown[];
  /** The same with what they stand for. */
  readonly primals: readonly unknown[];
}

/** A call whose result is there. */
export interface FinishedCall extends RecordedCall {
  /** What its rule reads: `primals` with the elements that they had at the call. */
  readonly kept: readonly unknown[];
}

/**
 * A trace that computes what operations give, and owns it: what it made is disposed when it ends. What it knows of a result is left to those that
 * extend it.
 */
export abstract class Recording implements Trace {
  readonly level = nextLevel();
  /** The function of the package that traces, for messages. */
  readonly what: string;
  /** Whether elements were read. */
  wasRead = false;
  #ended = false;
  readonly #owned = new Set<Disposable>();
  readonly #underWay = new Set<Promise<unknown>>();
  /** The trace of the next lower level whose values it has met. */
  #below: Recording | undefined;
  readonly #handles = new Map<Tensor, Tensor>();
  readonly #writes = new Map<Tensor, number>();

  readonly detectsNaN: boolean;
  /** Looked at in front of every operation, and of every rule. */
  readonly signal: AbortSignal | undefined;
  /** What calls gave, in order, where results with NaN are refused. */
  readonly #results: { readonly said: string; readonly value: unknown }[] = [];

  /** Whether it asks operations for their derivatives. */
  protected readonly differentiates: boolean = true;

  get wantsSlopes(): boolean {
    return this.differentiates;
  }

  constructor(what: string, detectsNaN = false, signal?: AbortSignal) {
    this.what = what;
    this.detectsNaN = detectsNaN;
    this.signal = signal;
  }

  /** A value that must have no NaN where that is looked for. */
  protected noteResult(said: string, value: unknown): void {
    if (this.detectsNaN && value !== undefined) this.#results.push({ said, value });
  }

  /** @throws AutodiffError NOT_A_NUMBER for the first value that has NaN, where that is looked for */
  async assertNoNaN(): Promise<void> {
    for (const { said, value } of this.#results) await assertNoNaN(value, said);
  }

  /** What the trace knows of each value of a result, in their order. @param result a tensor, or a list or record of them */
  protected abstract recordsOf(
    call: FinishedCall,
    values: readonly unknown[],
    result: unknown,
  ): readonly unknown[];

  /**
   * The rule of a call with what this trace knows of its arguments, in their order; undefined where the call depends on none of its values.
   *
   * @throws MercerError NOT_DIFFERENTIABLE
   */
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- what those that extend it keep with each value
  protected ruleFor<R>(
    call: RecordedCall,
  ): { readonly rule: DerivativeRule; readonly records: readonly (R | undefined)[] } | undefined {
    const { name, derivative } = call.primitive;
    if (!this.#needsRule(call) || derivative === 'constant') return undefined;
    if (derivative === undefined || isComposition(derivative)) throw notDifferentiable(name);
    return {
      rule: derivative,
      records: flatArguments(call.args).map((one) => this.recordOf(one) as R | undefined),
    };
  }

  /** Whether an operation that is a composition is called as one, so that this trace sees its parts. */
  protected composes(_name: string, by: Composition, args: readonly unknown[]): boolean {
    return by.isTransparent === true || (this.differentiates && this.#hasRecords(args));
  }

  #needsRule({ primitive, args }: RecordedCall): boolean {
    return primitive.derivative !== 'constant' && this.#hasRecords(args);
  }

  #hasRecords(args: readonly unknown[]): boolean {
    return flatArguments(args).some((one) => this.recordOf(one) !== undefined);
  }

  /** What this trace knows of an argument. */
  protected recordOf(one: unknown): unknown {
    return isTracedKnown(one) && one.trace === this ? one.record : undefined;
  }

  /** What a call gives. */
  protected compute({ primitive, primals }: RecordedCall): unknown {
    return primitive.call(...(primals as never[]));
  }

  apply(primitive: Primitive, args: readonly unknown[]): unknown {
    this.assertLive(primitive.name);
    this.signal?.throwIfAborted();
    refuseOutputs(primitive.name, args);
    const { derivative } = primitive;
    if (isComposition(derivative) && this.composes(primitive.name, derivative, args)) {
      const given = derivative.isTransparent === true ? this.#withConstants(args) : args;
      const made = derivative.composedOf(...(given as never));
      return isThenable(made) ? promisesTraced(pending(made as Promise<unknown>)) : made;
    }
    const primals = mapArguments(args, (one) => this.#primalOf(one));
    const call = { primitive, args, primals };
    const result = this.compute(call);
    const kept = this.#keptOf(call);
    if (isKnownResult(result) || !isThenable(result))
      return this.#given({ ...call, kept: kept() }, result);
    const there = isKnownResult(result) ? undefined : thereOf(result);
    if (there !== undefined) {
      return promisesTraced(pendingOrThere(() => this.#given({ ...call, kept: kept() }, there)));
    }
    const later = async (): Promise<unknown> => {
      const given = await result;
      return this.#given({ ...call, kept: kept() }, given);
    };
    return promisesTraced(pending(this.#whileUnderWay(later())));
  }

  /** Constants of a function of a layer as values of this trace, which then owns what is computed of them. */
  #withConstants(args: readonly unknown[]): readonly unknown[] {
    const isConstant = (one: unknown): boolean =>
      (isTensor(one) && !one.disposed && isFloating(one)) ||
      (isKnownResult(one) && isFloating(one));
    return mapArguments(args, (one) => (isConstant(one) ? this.adopted(one) : one));
  }

  /** A value of this trace that stands for another. */
  wrap(primal: unknown, record?: unknown): Value {
    if (isTracedKnown(primal)) this.#noteBelow(primal.trace);
    const traced = isKnownResult(primal)
      ? new TracedResult(this, record, primal)
      : new Traced(this, record, primal as Tensor);
    return traced as unknown as Value;
  }

  /** What a rule gave, as a value of this trace: a rule may give what it did not compute of traced values. */
  adopted(given: unknown): Value {
    if (isTracedKnown(given) && given.trace === this) return given as unknown as Value;
    return this.wrap(this.keep(given));
  }

  /** It is disposed when the trace ends, and not by others. */
  own<T extends Disposable>(one: T): T {
    this.#owned.add(one);
    return one;
  }

  /** It is no longer the trace's to dispose. */
  release(one: Disposable): void {
    this.#owned.delete(one);
  }

  /** What the rule of a call will read, kept from now on; called once the result is there, and with it what is being launched for it. */
  #keptOf(call: RecordedCall): () => readonly unknown[] {
    const { primals } = call;
    if (!this.#needsRule(call)) return () => primals;
    const all = flatArguments(primals).map((one) => this.#keptOnceThere(one));
    return () =>
      nestedLike(
        primals,
        all.map((kept) => kept()),
      );
  }

  #keptOnceThere(value: unknown): () => unknown {
    // the call itself refuses it
    if (isTensor(value) && value.disposed) return () => value;
    const isOnItsWay = isKnownResult(value) && value.started && value.tensor === undefined;
    if (!isOnItsWay || value instanceof TracedResult || this.owns(value)) {
      const kept = this.keep(value);
      return () => kept;
    }
    let kept: unknown;
    // before anybody writes or disposes it; a call that failed may have ended the trace
    value.whenThere((tensor) => {
      if (!this.#ended) kept = this.keep(tensor);
    });
    return () => kept ?? this.keep(value);
  }

  /** What a rule will read: a handle of its own of what others may dispose, with the elements that it has now. */
  protected keep(one: unknown): unknown {
    if (one instanceof Traced) return one.twin();
    if (isKnownResult(one) && this.owns(one)) return one;
    if (isKnownResult(one) && (one instanceof TracedResult || one.tensor === undefined))
      return this.#keepUnstored(one);
    const value: unknown = isKnownResult(one) ? one.tensor : one;
    if (!isTensor(value)) return value;
    let handle = this.owns(value) ? value : this.#handles.get(value);
    if (handle === undefined || (handle !== value && this.#isWritten(handle))) {
      handle = this.own(value.view());
      this.#handles.set(value, handle);
    }
    if (!this.#writes.has(handle)) this.#writes.set(handle, handle.storage.writes);
    return handle;
  }

  #keepUnstored(one: KnownResult): unknown {
    if (one instanceof TracedResult || !one.started) return this.own(one.twin());
    // a twin would read what may be written by now
    one.keep();
    this.own({
      [Symbol.dispose]: () => {
        one.letGo();
      },
    });
    return one;
  }

  /** Whether what is kept was written since. */
  #isWritten(handle: Tensor): boolean {
    return this.#writes.get(handle) !== handle.storage.writes;
  }

  /** @throws MercerError MODIFIED where a tensor that a rule reads was written since the call */
  assertUnchanged(name: string, kept: readonly unknown[]): void {
    for (const one of flatArguments(kept)) {
      const written = this.writtenSince(one);
      if (written !== undefined)
        throw this.modified(written, `${name} read`, `give ${name} a clone()`);
    }
  }

  /** The tensor of a value that a rule reads, where it was written since. */
  protected writtenSince(one: unknown): Tensor | undefined {
    return isTensor(one) && this.#isWritten(one) ? one : undefined;
  }

  protected modified(one: Tensor, which: string, remedy: string): MercerError {
    return modifiedError(
      `${this.what}: ${one.label}, which ${which}, was written since, and its gradient needs the former elements. Write it after the gradient was computed, or ${remedy}.`,
      one.storage,
    );
  }

  /** A tensor that is the caller's: the one that is owned, or another handle. */
  taken(one: Tensor | Traced): Tensor {
    if (one instanceof Traced) return one.twin() as unknown as Tensor;
    if (!this.owns(one)) return one.view();
    this.release(one);
    return one;
  }

  /** What it owns is another trace's from now on. */
  giveTo(other: Recording): void {
    for (const one of this.#owned) other.own(one);
    this.#owned.clear();
  }

  owns(one: unknown): boolean {
    return this.#owned.has(one as Disposable);
  }

  assertLive(what: string): void {
    if (!this.#ended) return;
    throw new AutodiffError(
      'ESCAPED',
      `${what}: the value is traced by a ${this.what} that has ended. Values of a function that is traced are used inside it; return those that are needed later, and pass what a rule or a checkpoint reads as an argument.`,
    );
  }

  noteRead(what: string): void {
    this.assertLive(what);
    this.wasRead = true;
  }

  /** Waits for what is under way; nothing is recorded after that. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    this.#ended = true;
  }

  /** Disposes what it owns; where values are traced by an outer trace too, which may still compute with it, that owns it from now on. */
  dispose(): void {
    this.#ended = true;
    const below = this.#below;
    if (below !== undefined && !below.#ended) this.giveTo(below);
    for (const one of this.#owned) one[Symbol.dispose]();
    this.#owned.clear();
  }

  /** Whether an outer trace may still compute with what it made. */
  protected get hasBelow(): boolean {
    return this.#below !== undefined;
  }

  #noteBelow(trace: Trace): void {
    if (!(trace instanceof Recording) || trace === this) return;
    if (this.#below === undefined || trace.level > this.#below.level) this.#below = trace;
  }

  #primalOf(value: unknown): unknown {
    if (!isTracedKnown(value)) return value;
    if (value.trace !== this) {
      this.#noteBelow(value.trace);
      return value;
    }
    value.assertAlive();
    return value.primal;
  }

  #given(call: FinishedCall, result: unknown): unknown {
    const values = isKnownResult(result) ? [result] : flatArguments([result]);
    for (const one of values) {
      if (isTracedKnown(one) && one.trace.level >= this.level)
        throw closedOver(call.primitive.name);
      if (isPrimal(one)) this.own(one);
    }
    for (const one of values) this.noteResult(`${this.what}: ${call.primitive.name} gave`, one);
    const records = this.recordsOf(call, values, result);
    if (isKnownResult(result)) return this.wrap(result, records[0]);
    let at = 0;
    const [given] = mapArguments([result], (one) => {
      const record = records[at++];
      return isPrimal(one) ? this.wrap(one, record) : one;
    });
    return given;
  }

  async #whileUnderWay(work: Promise<unknown>): Promise<unknown> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }
}

const isFloating = ({ dtype }: Pick<Tensor, 'dtype'>): boolean => /float/.test(dtype);

const isComposition = (derivative: Primitive['derivative']): derivative is Composition =>
  typeof derivative === 'object' && 'composedOf' in derivative;

export const closedOver = (name: string): Error =>
  notDifferentiable(
    name,
    'the function uses traced values that are not among its arguments',
    'Pass them as arguments',
  );

/** Options with which a call writes a tensor that exists. */
const OUTPUTS = ['out', 'overwriteA', 'overwriteB'] as const;

/** @throws MercerError NOT_DIFFERENTIABLE where a call is to write a tensor that exists */
function refuseOutputs(name: string, args: readonly unknown[]): void {
  const options = args.at(-1);
  if (typeof options !== 'object' || options === null || isPrimal(options)) return;
  const given = own(options as Partial<Record<(typeof OUTPUTS)[number], unknown>>, ...OUTPUTS);
  const output = OUTPUTS.find((one) => given[one] !== undefined && given[one] !== false);
  if (output === undefined) return;
  throw writesTraced(name, `the option ${output} overwrites a tensor`);
}
