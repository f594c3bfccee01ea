import { setImmediate } from 'node:timers';
import { inspect } from 'node:util';
import { collectGarbage } from './collect-garbage.js';
import type { StorageBlock } from './storage-block.js';

/** What outlives a tensor object: its hold on the storage. */
export class Lifetime {
  readonly storage: StorageBlock;
  released = false;
  /** Its place among the young, if it is one of them. */
  young = -1;

  constructor(storage: StorageBlock) {
    this.storage = storage;
  }

  /** Gives up the hold; false when that was done before. */
  release(): boolean {
    if (this.released) return false;
    this.released = true;
    if (this.young >= 0) leaveYoung(this);
    else watched.delete(this);
    this.storage.dispose();
    return true;
  }
}

const watched = new Set<Lifetime>();
const owners = new WeakSet();
let census: Set<object> | undefined;

const registry = new FinalizationRegistry<Lifetime>((lifetime) => {
  reclaim(lifetime);
});

function reclaim(lifetime: Lifetime): void {
  const { storage } = lifetime;
  if (!lifetime.release()) return;
  storage.device.noteLeak();
  if (storage.disposed) storage.device.noteLeakedBytes(storage.countedBytes);
}

/** Below this many tensors a collection is not worth its time. */
const SWEEP_OWNERS = 4096;
let sweepAt = SWEEP_OWNERS;

/**
 * What was made last, strongly held and not watched yet: most results are disposed soon and never need it. They are watched all at
 * once, when there are many or the task has ended.
 */
const young: ({ readonly owner: object; readonly lifetime: Lifetime } | undefined)[] = [];
const YOUNG = 256;
let awaitsTurn = false;

/** Frees the storage when the owner is collected without having been disposed. */
export function watch(owner: object, lifetime: Lifetime): void {
  if (young.length >= YOUNG) {
    watchYoung();
    if (watched.size >= sweepAt) {
      sweep();
      sweepAt = Math.max(SWEEP_OWNERS, 2 * watched.size);
    }
  }
  lifetime.young = young.push({ owner, lifetime }) - 1;
  if (awaitsTurn) return;
  awaitsTurn = true;
  setImmediate(() => {
    awaitsTurn = false;
    watchYoung();
  });
}

function leaveYoung(lifetime: Lifetime): void {
  young[lifetime.young] = undefined;
  while (young.length > 0 && young.at(-1) === undefined) young.pop();
}

function watchYoung(): void {
  for (const one of young) {
    if (one === undefined) continue;
    const { owner, lifetime } = one;
    lifetime.young = -1;
    watched.add(lifetime);
    owners.add(owner);
    registry.register(owner, lifetime, lifetime);
  }
  young.length = 0;
}

/** The owner was disposed: nothing to watch any more. */
export function unwatch(owner: object, lifetime: Lifetime): void {
  if (lifetime.young >= 0) return;
  owners.delete(owner);
  registry.unregister(lifetime);
}

/** True while the living are being counted: an owner's inspector then adds its lifetime to the census and says ''. */
export function answerCensus(lifetime: object): boolean {
  census?.add(lifetime);
  return census !== undefined;
}

/** Handles that are neither disposed nor known to be unreachable. */
export function watchedCount(): number {
  return watched.size + young.filter((one) => one !== undefined).length;
}

/** Lives as long as this module: a census that misses it cannot be trusted. */
class Witness {
  readonly lifetime = {};
  [inspect.custom](): string {
    answerCensus(this.lifetime);
    return '';
  }
}
const witnesses: Witness[] = [];

/**
 * Collects garbage and frees what no tensor object reaches any more, now, without waiting for the event loop: V8 runs
 * finalisers only between tasks, and a synchronous loop has no between. Which owners are still alive is read from a
 * WeakSet, whose entries util.inspect lists on demand; unlike WeakRef.deref() that does not keep them alive for the rest
 * of the task. Returns how many were freed.
 */
export function sweep(): number {
  watchYoung();
  if (watched.size === 0) return 0;
  collectGarbage();
  const alive = takeCensus();
  if (alive === undefined) return 0;
  let freed = 0;
  for (const lifetime of [...watched]) {
    if (!alive.has(lifetime)) {
      registry.unregister(lifetime);
      reclaim(lifetime);
      freed++;
    }
  }
  return freed;
}

function takeCensus(): Set<object> | undefined {
  if (witnesses.length < 3) {
    const witness = new Witness();
    witnesses.push(witness);
    owners.add(witness);
  }
  const found = new Set<object>();
  census = found;
  try {
    const text = inspect(owners, {
      showHidden: true,
      customInspect: true,
      depth: Infinity,
      maxArrayLength: Infinity,
      maxStringLength: Infinity,
      compact: true,
    });
    const complete = witnesses.every((witness) => found.has(witness.lifetime));
    return complete && !text.includes('more item') ? found : undefined;
  } finally {
    census = undefined;
  }
}
