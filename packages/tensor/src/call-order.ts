/*
 * Calls that touch the same memory take effect in the order in which they were made, awaited or not (docs/adr/0029). Each has a place in that
 * order from the moment when it is made, and waits only for calls with an earlier place. So no two calls ever wait for each other.
 */
import { unlessAborted } from './unless-aborted.js';

let last = 0;
let current: number | undefined;
let holder: Hold | undefined;

/** The memory of a tensor; undefined for all else. Nothing is asked of a value that is none. */
let memoryOf: (value: unknown) => OrderedMemory | undefined = () => undefined;

/** Says what a tensor is, which this file cannot import. */
export function setMemoryOf(of: typeof memoryOf): void {
  memoryOf = of;
}

/** The memory of the tensors among values. */
export const memoryAmong = (values: readonly unknown[]): OrderedMemory[] =>
  values.flatMap((one) => memoryOf(one) ?? []);

let moment = 0;
/** Counts what is held and what is disposed, in their order. */
export const nextMoment = (): number => ++moment;

/** Whether the call at work reads memory of a tensor that its caller disposed after the call. */
export const isHeldNow = (memory: OrderedMemory, disposedAt: number): boolean =>
  holder?.holds(memory, disposedAt) === true;

/** The place of a call that is made now: a new one, or that of the call that it is part of. */
export function placeInOrder(): number {
  return current ?? ++last;
}

/** Makes calls that are part of one with this place. They are made before `work` returns, so it awaits nothing before. */
export function atPlace<T>(place: number, work: () => T): T {
  const before = current;
  current = place;
  try {
    return work();
  } finally {
    current = before;
  }
}

/** For work that goes on after it has waited: makes later calls at the place that it has now. */
export function keptPlace(): <T>(work: () => T) => T {
  const place = placeInOrder();
  return (work) => atPlace(place, work);
}

/** Memory as the order of calls sees it. */
export interface OrderedMemory {
  /** The calls that touch it and are not enqueued yet. */
  readonly calls: CallLine | undefined;
  /** Whether a chain will read it. */
  readonly hasLaterReads: boolean;
  /** Adds a call. */
  enterCall(turn: Turn, writes: boolean): void;
  /** Launches the chains with an earlier place that read it. */
  launchLaterReads(place: number): Promise<void>;
  /** @throws MercerError DISPOSED */
  retain(): this;
  dispose(): void;
}

/** Memory that a call reads although its caller disposes the tensors before it is enqueued. */
export class Hold {
  readonly memory: OrderedMemory[] = [];
  /** When the call was made, or that which it is part of. */
  readonly #since: number;
  #isReleased = false;

  /** Of memory that is there. */
  constructor(memory: Iterable<OrderedMemory>) {
    this.#since = holder === undefined ? nextMoment() : holder.#since;
    for (const one of memory) this.add(one);
  }

  add(one: OrderedMemory): void {
    if (!this.#isReleased && !this.memory.includes(one)) this.memory.push(one.retain());
  }

  holds(one: OrderedMemory, disposedAt: number): boolean {
    return !this.#isReleased && disposedAt > this.#since && this.memory.includes(one);
  }

  /** Does a part of the call. */
  run<T>(work: () => T): T {
    return withHolder(this, work);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    for (const one of this.memory) one.dispose();
  }
}

function withHolder<T>(one: Hold, work: () => T): T {
  const before = holder;
  holder = one;
  try {
    return work();
  } finally {
    holder = before;
  }
}

interface Entry {
  readonly turn: Turn;
  readonly writes: boolean;
}

/** The calls that touch one memory and are not enqueued yet, in their order. */
export class CallLine {
  readonly #entries: Entry[] = [];
  #writers = 0;

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  get hasWriters(): boolean {
    return this.#writers > 0;
  }

  /** The place of the call that writes next, or does so now. */
  get firstWriter(): number | undefined {
    return this.#writers === 0 ? undefined : this.#entries.find(({ writes }) => writes)?.turn.place;
  }

  /** How many calls are to write, of those from a place on. */
  writersFrom(place: number): number {
    if (this.#writers === 0) return 0;
    return this.#entries.filter(({ turn, writes }) => writes && turn.place >= place).length;
  }

  /** Whether a call with a later place writes now. */
  isWrittenAfter(place: number): boolean {
    if (this.#writers === 0) return false;
    return this.#entries.some(({ turn, writes }) => writes && turn.place > place && turn.hasCome);
  }

  enter(turn: Turn, writes: boolean): void {
    let at = this.#entries.length;
    while (at > 0 && (this.#entries[at - 1] as Entry).turn.place > turn.place) at--;
    this.#entries.splice(at, 0, { turn, writes });
    if (writes) this.#writers++;
  }

  /** The calls that one has to wait for: what reads waits for what writes, and what writes for all. */
  before(turn: Turn, writes: boolean): Turn[] {
    const found: Turn[] = [];
    // other parts of the same call have its place
    const from = this.#entries.findIndex((one) => one.turn.place === turn.place);
    for (let i = from - 1; i >= 0; i--) {
      const one = this.#entries[i] as Entry;
      if (writes || one.writes) found.push(one.turn);
      if (one.writes) break; // which waits for those before it
    }
    return found;
  }

  leave(turn: Turn): void {
    const at = this.#entries.findIndex((one) => one.turn === turn);
    if (at < 0) return;
    const [gone] = this.#entries.splice(at, 1);
    if (gone?.writes === true) this.#writers--;
  }
}

/**
 * The turn of a call that is not enqueued within the call: later calls that write what it touches, or read what it writes, wait until it
 * ends. It holds the memory.
 */
export class Turn {
  readonly place: number;
  readonly #reads: Hold;
  /** What is written must live until the call resolves. */
  readonly #written: Hold;
  readonly #writes: ReadonlySet<OrderedMemory>;
  #arrival: Promise<void> | undefined;
  #state: 'waiting' | 'come' | 'ended' = 'waiting';
  #isEnding = false;
  #waiting: (() => void)[] = [];

  /** Of memory that is there. */
  constructor(
    reads: Iterable<OrderedMemory>,
    writes: Iterable<OrderedMemory>,
    place = placeInOrder(),
  ) {
    this.place = place;
    this.#writes = new Set(writes);
    this.#reads = new Hold([...reads].filter((one) => !this.#writes.has(one)));
    this.#written = new Hold(this.#writes);
    for (const one of this.#reads.memory) one.enterCall(this, false);
    for (const one of this.#written.memory) one.enterCall(this, true);
  }

  /** Memory that the call reads as well, as it turns out before it comes. */
  reads(one: OrderedMemory): void {
    if (this.#isEnding || this.#touched.includes(one)) return;
    this.#reads.add(one);
    one.enterCall(this, false);
  }

  get #touched(): readonly OrderedMemory[] {
    return [...this.#reads.memory, ...this.#written.memory];
  }

  get hasCome(): boolean {
    return this.#state === 'come';
  }

  /** Waits for what comes before, without a turn where that is nothing. @throws the signal's reason */
  come(signal?: AbortSignal): Promise<void> | undefined {
    if (this.#state !== 'waiting') return undefined;
    if (this.#arrival === undefined) {
      const chains = [...this.#writes].filter((one) => one.hasLaterReads);
      const calls = this.#before();
      if (calls.length === 0 && chains.length === 0) {
        this.#state = 'come';
        return undefined;
      }
      this.#arrival = this.#arrive(
        calls,
        chains.map((one) => one.launchLaterReads(this.place)),
      );
    }
    return unlessAborted(this.#arrival, signal);
  }

  async #arrive(calls: readonly Turn[], chains: readonly Promise<void>[]): Promise<void> {
    await Promise.all([...chains, ...calls.map((one) => one.#whenEnded())]);
    // chains may have been launched meanwhile that have an earlier place
    for (let left = this.#before(); left.length > 0; left = this.#before()) {
      await Promise.all(left.map((one) => one.#whenEnded()));
    }
    this.#state = 'come';
  }

  #before(): Turn[] {
    return this.#touched.flatMap((one) => one.calls?.before(this, this.#writes.has(one)) ?? []);
  }

  /** Makes calls that are part of this one, with what it holds: see {@link atPlace}. */
  run<T>(work: () => T): T {
    return this.#reads.run(() => atPlace(this.place, work));
  }

  /** It is enqueued, or failed: then those behind it still wait for those before it. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const arrival = this.come();
    if (arrival === undefined) this.#leave();
    else void arrival.finally(() => this.#leave());
  }

  #leave(): void {
    this.#state = 'ended';
    for (const one of this.#touched) one.calls?.leave(this);
    this.#reads.release();
    this.#written.release();
    for (const go of this.#waiting) go();
    this.#waiting = [];
  }

  #whenEnded(): Promise<void> {
    if (this.#state === 'ended') return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

/** Work of a call in its turn: begun within the call where nothing comes before. @throws the signal's reason */
export async function inTurn<T>(
  reads: Iterable<OrderedMemory>,
  writes: Iterable<OrderedMemory>,
  signal: AbortSignal | undefined,
  work: (turn: Turn) => Promise<T>,
): Promise<T> {
  const turn = new Turn(reads, writes);
  try {
    const coming = turn.come(signal);
    if (coming !== undefined) await coming;
    return await turn.run(() => work(turn));
  } finally {
    turn.end();
  }
}
