import { inspect } from 'node:util';
import { nextMoment } from './call-order.js';
import { collectGarbage } from './collect-garbage.js';
import type { StorageBlock } from './storage-block.js';
import { YoungOwners } from './young-owners.js';

/** What outlives a tensor object: its hold on the storage. */
export class Lifetime {
  readonly storage: StorageBlock;
  released = false;
  /** When: see `isHeldNow`. */
  releasedAt = 0;
  /** Its place among the young, if it is one of them. */
  young = -1;
  /** Whether it was watched until it was released. */
  isWatched = false;

  constructor(storage: StorageBlock) {
    this.storage = storage;
  }

  /** Gives up the hold; false when that was done before. */
  release(): boolean {
    if (this.released) return false;
    this.released = true;
    this.releasedAt = nextMoment();
    this.isWatched = !young.delete(this);
    if (this.isWatched) watched.delete(this);
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

const young = new YoungOwners<Lifetime>((owner, lifetime) => {
  watched.add(lifetime);
  owners.add(owner);
  registry.register(owner, lifetime, lifetime);
});

/** Frees the storage when the owner is collected without having been disposed. */
export function watch(owner: object, lifetime: Lifetime): void {
  if (young.isFull) {
    young.watchAll();
    if (watched.size >= sweepAt) {
      sweep();
      sweepAt = Math.max(SWEEP_OWNERS, 2 * watched.size);
    }
  }
  young.add(owner, lifetime);
}

/** The owner was disposed: nothing to watch any more. */
export function unwatch(owner: object, lifetime: Lifetime): void {
  if (!lifetime.isWatched) return;
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
  return watched.size + young.count;
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
  young.watchAll();
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
