import { own } from '@mercer/options';
import { isTensor, type MercerError, type Tensor } from '@mercer/tensor';
import {
  anotherHandle,
  Arguments,
  isKnownResult,
  isTracedKnown,
  isUsable,
  mapArguments,
  modifiedError,
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
  readonly args: Arguments;
  /** The same with what they stand for. */
  readonly primals: Arguments;
  /** What the trace knows of them, in their order; undefined where it differentiates nothing here. */
  readonly records: readonly unknown[] | undefined;
}

/** A call whose result is there. */
export interface FinishedCall extends RecordedCall {
  /** What its rule reads: `primals` with the elements that they had at the call. */
  readonly kept: Arguments;
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
  protected ruleFor<R>({
    primitive: { name, derivative },
    records,
  }: RecordedCall):
    { readonly rule: DerivativeRule; readonly records: readonly (R | undefined)[] } | undefined {
    if (records === undefined || derivative === 'constant') return undefined;
    if (derivative === undefined || isComposition(derivative)) throw notDifferentiable(name);
    return { rule: derivative, records: records as readonly (R | undefined)[] };
  }

  /** Whether an operation that is a composition is called as one, so that this trace sees its parts. */
  protected composes(_name: string, by: Composition, args: Arguments): boolean {
    return by.isTransparent === true || this.#recordsAmong(args) !== undefined;
  }

  /** What rules are asked for; undefined where nothing that is differentiated is among them. */
  #recordsAmong({ flat }: Arguments): readonly unknown[] | undefined {
    if (!this.differentiates) return undefined;
    const records = flat.map((one) => this.recordOf(one));
    return records.some((one) => one !== undefined) ? records : undefined;
  }

  /** What this trace knows of an argument. */
  protected recordOf(one: unknown): unknown {
    return isTracedKnown(one) && one.trace === this ? one.record : undefined;
  }

  /** What a call gives. */
  protected compute({ primitive, primals }: RecordedCall): unknown {
    const { call, untraced = call } = primitive;
    const run = primals.flat.some(isTracedKnown) ? call : untraced;
    return run(...(primals.all as never[]));
  }

  apply(primitive: Primitive, args: Arguments): unknown {
    this.assertLive(primitive.name);
    this.signal?.throwIfAborted();
    refuseOutputs(primitive.name, args.all);
    const { derivative } = primitive;
    if (isComposition(derivative) && this.composes(primitive.name, derivative, args)) {
      // where values have a hidden axis, what has none stays what it is
      const { hiddenAxes } = this as Trace;
      const adopts = derivative.isTransparent === true && hiddenAxes === undefined;
      const given = this.#ofItsOwn(args.all, adopts);
      const made = derivative.composedOf(...(given as never));
      return isThenable(made) ? promisesTraced(pending(made as Promise<unknown>)) : made;
    }
    const primals = args.with(args.flat.map((one) => this.#primalOf(one)));
    const records = derivative === 'constant' ? undefined : this.#recordsAmong(args);
    const call = { primitive, args, primals, records };
    const result = this.compute(call);
    const kept = records === undefined ? primals : this.#keptOf(primals);
    if (isKnownResult(result) || !isThenable(result)) return this.#given(call, kept, result);
    const there = thereOf(result);
    if (there !== undefined)
      return promisesTraced(pendingOrThere(() => this.#given(call, kept, there)));
    const later = async (): Promise<unknown> => this.#given(call, kept, await result);
    return promisesTraced(pending(this.#whileUnderWay(later())));
  }

  /**
   * Arguments of a composition, as handles that others do not dispose. @param adopts constants of a function of a layer as values of this trace, which then
   * owns what is computed of them
   */
  #ofItsOwn(args: readonly unknown[], adopts: boolean): readonly unknown[] {
    return mapArguments(args, (one) => {
      if (isTracedKnown(one)) return anotherHandle(one);
      if (isTensor(one)) {
        if (!isUsable(one)) return one;
        return adopts && isFloating(one) ? this.adopted(one) : this.keep(one);
      }
      return adopts && isKnownResult(one) && isFloating(one) ? this.adopted(one) : one;
    });
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

  /** What the rule of a call will read, kept from now on: {@link KeptLater} in the place of what is being launched for it. */
  #keptOf(primals: Arguments): Arguments {
    return primals.with(primals.flat.map((one) => this.#keptOrLater(one)));
  }

  #keptOrLater(value: unknown): unknown {
    // the call itself refuses it
    if (isTensor(value) && !isUsable(value)) return value;
    const isOnItsWay = isKnownResult(value) && value.started && value.tensor === undefined;
    if (!isOnItsWay || value instanceof TracedResult || this.owns(value)) return this.keep(value);
    const later = new KeptLater(value);
    // before anybody writes or disposes it; a call that failed may have ended the trace
    value.whenThere((tensor) => {
      if (!this.#ended) later.kept = this.keep(tensor);
    });
    return later;
  }

  /** The same once the result is there, and with it what was launched for it. */
  #keptThere(kept: Arguments): Arguments {
    if (!kept.flat.some((one) => one instanceof KeptLater)) return kept;
    return kept.with(
      kept.flat.map((one) => (one instanceof KeptLater ? (one.kept ?? this.keep(one.value)) : one)),
    );
  }

  /** What a rule will read: a handle of its own of what others may dispose, with the elements that it has now. */
  protected keep(one: unknown): unknown {
    if (one instanceof Traced) return one.twin();
    let value = one;
    if (isKnownResult(one)) {
      if (this.owns(one)) return one;
      if (one instanceof TracedResult || one.tensor === undefined) return this.#keepUnstored(one);
      value = one.tensor;
    }
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
    // where it is on its way, a twin would read what may be written by now
    const isOnItsWay = one.started && !(one instanceof TracedResult);
    const kept = isOnItsWay ? one : this.own(one.twin());
    if (isTensor(kept)) return kept;
    kept.keep();
    this.own({
      [Symbol.dispose]: () => {
        kept.letGo();
      },
    });
    return kept;
  }

  /** Whether what is kept was written since. */
  #isWritten(handle: Tensor): boolean {
    return this.#writes.get(handle) !== handle.storage.writes;
  }

  /** @throws MercerError MODIFIED where a tensor that a rule reads was written since the call */
  assertUnchanged(name: string, kept: Arguments): void {
    for (const one of kept.flat) {
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

  /** Waits for what is under way, if anything is; nothing is recorded after that. */
  close(): Promise<void> | undefined {
    if (this.#underWay.size > 0) return this.#closeBehind();
    this.#ended = true;
    return undefined;
  }

  async #closeBehind(): Promise<void> {
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

  #given(recorded: RecordedCall, kept: Arguments, result: unknown): unknown {
    const { primitive, args, primals, records: known } = recorded;
    const call = { primitive, args, primals, records: known, kept: this.#keptThere(kept) };
    const isSingle = isTensor(result) || isKnownResult(result);
    const given = isSingle ? Arguments.ofSingle([result]) : Arguments.of([result]);
    const values = given.flat;
    for (const one of values) {
      if (isTracedKnown(one) && one.trace.level >= this.level)
        throw closedOver(call.primitive.name);
      if (isPrimal(one)) this.own(one);
    }
    if (this.detectsNaN)
      for (const one of values) this.noteResult(`${this.what}: ${call.primitive.name} gave`, one);
    const records = this.recordsOf(call, values, result);
    const wrapped = values.map((one, at) => (isPrimal(one) ? this.wrap(one, records[at]) : one));
    return given.with(wrapped).all[0];
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

/** What a rule will read of a value that is being launched. */
class KeptLater {
  readonly value: KnownResult;
  /** Once it is there. */
  kept: unknown;

  constructor(value: KnownResult) {
    this.value = value;
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
