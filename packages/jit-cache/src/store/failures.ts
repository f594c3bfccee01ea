import { Buffer } from 'node:buffer';
import type { FailedCompile } from '../types.js';
import type { Database } from './database.js';

/** Failures that are remembered at most: the newest. */
const MOST = 32;
const LONGEST_MESSAGE = 500;
const PREFIX = 'failed ';

/** What is noted of a compile that failed, beside its key. */
export interface FailureRecord extends Omit<FailedCompile, 'key' | 'at'> {
  readonly key: Uint8Array;
}

const nameOf = (key: Uint8Array): string => `${PREFIX}${Buffer.from(key).toString('hex')}`;

/** Notes a failure in the place of an earlier one of the same unit; the oldest of too many go. */
export function noteFailure(database: Database, record: FailureRecord, now: number): void {
  const { key, names, target, toolchain } = record;
  const [line = ''] = record.message.trim().split('\n');
  // node:sqlite reads a text up to its first NUL.
  const message = line.slice(0, LONGEST_MESSAGE).replaceAll('\0', '\uFFFD');
  database
    .prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)')
    .run(nameOf(key), JSON.stringify({ at: now, names, target, toolchain, message }));
  const all = listFailures(database);
  for (const { key: old } of all.slice(MOST)) dropFailure(database, Buffer.from(old, 'hex'));
}

/** The unit was compiled after all. */
export function dropFailure(database: Database, key: Uint8Array): void {
  database.prepare('DELETE FROM meta WHERE name = ?').run(nameOf(key));
}

export function dropFailures(database: Database): void {
  database.prepare("DELETE FROM meta WHERE name LIKE 'failed %'").run();
}

/** The newest first. What does not read as a failure is left out. */
export function listFailures(database: Database): FailedCompile[] {
  return database
    .prepare("SELECT name, value FROM meta WHERE name LIKE 'failed %'")
    .all()
    .flatMap(({ name, value }) => readFailure(String(name).slice(PREFIX.length), String(value)))
    .sort((a, b) => b.at.getTime() - a.at.getTime());
}

function readFailure(key: string, text: string): FailedCompile[] {
  try {
    const { at, names, target, toolchain, message } = JSON.parse(text) as Record<string, unknown>;
    if (typeof at !== 'number' || !Array.isArray(names)) return [];
    return [
      {
        key,
        names: names.map(String),
        target: String(target),
        toolchain: String(toolchain),
        message: String(message),
        at: new Date(at),
      },
    ];
  } catch {
    return []; // rotten bytes
  }
}
