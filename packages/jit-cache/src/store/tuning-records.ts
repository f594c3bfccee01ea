import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Database } from './database.js';

const MOST_RECORDS = 20_000;

function checksum(problem: string, device: string, plan: string): Uint8Array {
  return createHash('sha256')
    .update(JSON.stringify([problem, device, plan]))
    .digest();
}

/** The plan stored for a problem class and device; undefined where there is none or it has rotted. */
export function readTuning(database: Database, problem: string, device: string): unknown {
  const row = database
    .prepare('SELECT plan, sha FROM tuning WHERE problem = ? AND device = ?')
    .get(problem, device);
  if (row === undefined || !(row['sha'] instanceof Uint8Array)) return undefined;
  const plan = String(row['plan']);
  if (Buffer.compare(checksum(problem, device, plan), row['sha']) !== 0) return undefined;
  return JSON.parse(plan) as unknown;
}

export function writeTuning(
  database: Database,
  problem: string,
  device: string,
  plan: string,
  now: number,
): void {
  database
    .prepare('INSERT OR REPLACE INTO tuning VALUES (?, ?, ?, ?, ?)')
    .run(problem, device, plan, checksum(problem, device, plan), now);
  database
    .prepare(
      'DELETE FROM tuning WHERE rowid IN (SELECT rowid FROM tuning ORDER BY created DESC LIMIT -1 OFFSET ?)',
    )
    .run(MOST_RECORDS);
}
