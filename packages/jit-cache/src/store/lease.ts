import type { Database } from './database.js';
import type { Row } from './driver-types.js';
import type { System } from './system.js';
import { readNumber } from './schema.js';

/** How long a lease lasts without a heartbeat. */
export const LEASE_MS = 10_000;

/** The right to compile one key, held by one cache instance on this machine. */
export interface Lease {
  /** Drawn at random by each cache instance. */
  readonly owner: string;
  readonly pid: number;
  readonly started: string;
  readonly boot: string;
  readonly namespace: string;
  readonly host: string;
  /** Counts heartbeats: a lease whose count stands still is dead whatever the clocks say. */
  readonly beat: number;
  /** Wall clock, ms since 1970. */
  readonly expires: number;
}

function toLease(row: Row): Lease {
  return {
    owner: String(row['owner']),
    pid: readNumber(row, 'pid'),
    started: String(row['started']),
    boot: String(row['boot']),
    namespace: String(row['namespace']),
    host: String(row['host']),
    beat: readNumber(row, 'beat'),
    expires: readNumber(row, 'expires'),
  };
}

export function readLease(database: Database, key: Uint8Array): Lease | undefined {
  const row = database.prepare('SELECT * FROM lease WHERE key = ?').get(key);
  return row && toLease(row);
}

/**
 * Takes the lease, inside a write transaction: when there is none, or when it is still the one
 * that the caller found dead.
 */
export function takeLease(
  database: Database,
  key: Uint8Array,
  owner: string,
  system: System,
  dead?: Lease,
): Lease | 'mine' {
  const held = readLease(database, key);
  if (held && !(dead && dead.owner === held.owner && dead.beat === held.beat)) return held;
  const { pid, bootId, pidNamespace, host } = system;
  database
    .prepare('INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)')
    .run(
      key,
      owner,
      pid,
      system.startTime(pid),
      bootId,
      pidNamespace,
      host,
      system.now() + LEASE_MS,
    );
  return 'mine';
}

export function renewLease(database: Database, key: Uint8Array, owner: string, now: number): void {
  database
    .prepare('UPDATE lease SET beat = beat + 1, expires = ? WHERE key = ? AND owner = ?')
    .run(now + LEASE_MS, key, owner);
}

export function releaseLease(database: Database, key: Uint8Array, owner: string): void {
  database.prepare('DELETE FROM lease WHERE key = ? AND owner = ?').run(key, owner);
}

/** Leases that nobody has asked about since their owners died. */
export function dropOldLeases(database: Database, now: number): void {
  database.prepare('DELETE FROM lease WHERE expires < ?').run(now - 3_600_000);
}

/** Whether the owner is known to be gone. False also where that cannot be told from here. */
export function isOwnerDead(lease: Lease, system: System): boolean {
  if (lease.expires < system.now()) return true;
  if (lease.boot !== system.bootId) return lease.host === system.host;
  // A process number says nothing across process-number spaces (containers sharing a folder).
  if (lease.namespace !== system.pidNamespace) return false;
  if (!system.isAlive(lease.pid)) return true;
  return lease.started !== system.startTime(lease.pid);
}
