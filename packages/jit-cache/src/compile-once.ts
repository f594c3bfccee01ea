import { backOff } from './store/retry.js';
import { hasEntry } from './store/entries.js';
import {
  isOwnerDead,
  LEASE_MS,
  readLease,
  releaseLease,
  renewLease,
  takeLease,
  type Lease,
} from './store/lease.js';
import type { StoreSession } from './store/store-session.js';
import type { System } from './store/system.js';

/** After this long a call compiles by itself, whoever else may be at it. */
const MOST_WAIT_MS = 60_000;
const HEARTBEAT_MS = LEASE_MS / 4;

/** Who compiles. */
export interface LeaseRequest {
  readonly session: StoreSession;
  readonly system: System;
  readonly key: Uint8Array;
  /** Drawn at random by this cache instance. */
  readonly owner: string;
  /** Called once if the compile is someone else's. */
  readonly onWait: () => void;
  /** Aborts when nobody waits for the entry any more. */
  readonly signal: AbortSignal;
  /** False: waiting for someone else keeps no process alive. */
  readonly keepsAlive: boolean;
}

/** The right to compile, or the news that someone else has done it. */
export type LeaseOutcome =
  | { readonly kind: 'ready' }
  /** `held`: the lease is ours; without one (no store, lock trouble) we compile all the same. */
  | { readonly kind: 'compile'; readonly held: boolean };

type Watch = 'ready' | 'free' | Lease;

/**
 * Waits until the entry is there, the lease is gone, or its owner is dead. Nobody waits on a full
 * disk: the entry would not come, and the lease could not be given back.
 */
async function watch(
  request: LeaseRequest,
  held: Lease,
  deadlineMs: number,
): Promise<Watch | 'late'> {
  const { session, system, key, signal } = request;
  let last = held;
  let changedMs = system.monotonicMs();
  for (let attempt = 0; ; attempt++) {
    if (isOwnerDead(last, system)) return last;
    // The owner's heart has stood still by our own clock, whatever the wall clocks say.
    if (system.monotonicMs() - changedMs > LEASE_MS) return last;
    if (system.monotonicMs() > deadlineMs || !session.hasRoom) return 'late';
    await backOff(attempt, system.random, 50, request.keepsAlive);
    signal.throwIfAborted();
    const seen = await session.read((database) =>
      hasEntry(database, key) ? 'ready' : (readLease(database, key) ?? 'free'),
    );
    if (seen === undefined) return 'late';
    if (typeof seen === 'string') return seen;
    if (seen.owner !== last.owner || seen.beat !== last.beat) changedMs = system.monotonicMs();
    last = seen;
  }
}

/**
 * Gets the right to compile a key, or waits for whoever has it. No lock is held while waiting nor
 * afterwards: the lease is a row, not a lock.
 *
 * @throws the signal's reason
 */
export async function acquireLease(request: LeaseRequest): Promise<LeaseOutcome> {
  const { session, system, key, owner } = request;
  const deadlineMs = system.monotonicMs() + MOST_WAIT_MS;
  let dead: Lease | undefined;
  let waited = false;
  for (;;) {
    const expected = dead;
    const outcome = await session.write((database) =>
      hasEntry(database, key) ? 'ready' : takeLease(database, key, owner, system, expected),
    );
    if (outcome === undefined) return { kind: 'compile', held: false };
    if (outcome === 'ready') return { kind: 'ready' };
    if (outcome === 'mine') return { kind: 'compile', held: true };
    if (!waited) request.onWait();
    waited = true;
    const seen = await watch(request, outcome, deadlineMs);
    if (seen === 'ready') return { kind: 'ready' };
    if (seen === 'late') return { kind: 'compile', held: false };
    dead = seen === 'free' ? undefined : seen;
  }
}

/** Runs a compile with the lease kept alive; gives the lease back when the compile fails. */
export async function withHeartbeat<T>(
  request: LeaseRequest,
  compile: () => Promise<T>,
): Promise<T> {
  const { session, system, key, owner } = request;
  const timer = setInterval(() => {
    void session.write((database) => {
      renewLease(database, key, owner, system.now());
    }, HEARTBEAT_MS);
  }, HEARTBEAT_MS);
  timer.unref();
  try {
    return await compile();
  } catch (error) {
    void session.release((database) => {
      releaseLease(database, key, owner);
    });
    throw error;
  } finally {
    clearInterval(timer);
  }
}
