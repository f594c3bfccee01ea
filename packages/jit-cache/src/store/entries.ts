import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { EntryInfo } from '../types.js';
import type { Database } from './database.js';
import type { Row } from './driver-types.js';
import { readNumber } from './schema.js';
import { errorKind } from './sqlite-error.js';

/** What is stored under a key. */
export interface Entry {
  readonly binary: Uint8Array;
  readonly loweredNames: Readonly<Record<string, string>>;
  readonly log: string;
  readonly compileMs: number;
}

/** An entry with what describes it. */
export interface EntryRecord extends Entry {
  readonly key: Uint8Array;
  readonly keyJson: string;
  readonly target: string;
  readonly toolchain: string;
}

export type ReadResult =
  | { readonly kind: 'hit'; readonly entry: Entry; readonly lastUsed: number }
  | { readonly kind: 'miss' }
  | { readonly kind: 'corrupt'; readonly why: string };

/** Over everything that a read returns, each part preceded by its length. */
export function entrySum(key: Uint8Array, row: Row): Uint8Array {
  const hash = createHash('sha256');
  for (const part of [key, row['names'], row['log'], row['binary'], row['compile_ms']]) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(String(part), 'utf8');
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest();
}

function equal(a: Uint8Array, b: unknown): boolean {
  return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
}

function isNames(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((name) => typeof name === 'string')
  );
}

/**
 * Reads an entry in one statement, so that it is seen whole or not at all, and checks every byte
 * of it: SQLite's own integrity check does not notice a changed byte inside a value.
 */
export function readEntry(database: Database, key: Uint8Array): ReadResult {
  try {
    const row = database
      .prepare('SELECT binary, names, log, compile_ms, sha, last_used FROM entry WHERE key = ?')
      .get(key);
    if (row === undefined) return { kind: 'miss' };
    if (!equal(entrySum(key, row), row['sha'])) {
      return { kind: 'corrupt', why: 'its checksum does not match' };
    }
    const { binary, names, log } = row;
    const loweredNames: unknown = JSON.parse(String(names));
    if (!(binary instanceof Uint8Array) || !isNames(loweredNames)) {
      return { kind: 'corrupt', why: 'its columns have other types' };
    }
    return {
      kind: 'hit',
      entry: { binary, loweredNames, log: String(log), compileMs: readNumber(row, 'compile_ms') },
      lastUsed: readNumber(row, 'last_used'),
    };
  } catch (error) {
    // An integer that no sound row holds; everything else concerns the whole database.
    if (error instanceof RangeError && errorKind(error) === 'broken') {
      return { kind: 'corrupt', why: error.message };
    }
    throw error;
  }
}

/** What the key of an entry was made of. */
export function readKeyJson(database: Database, key: Uint8Array): string {
  const row = database.prepare('SELECT key_json FROM entry WHERE key = ?').get(key);
  return String(row?.['key_json']);
}

export function hasEntry(database: Database, key: Uint8Array): boolean {
  return database.prepare('SELECT 1 AS found FROM entry WHERE key = ?').get(key) !== undefined;
}

/** One row, one statement: key, names, bytes and checksum appear together. */
export function putEntry(database: Database, record: EntryRecord, now: number): void {
  const { key, keyJson, target, toolchain, binary, compileMs } = record;
  // node:sqlite reads a text up to its first NUL.
  const log = record.log.replaceAll('\0', '\uFFFD');
  const names = JSON.stringify(record.loweredNames);
  const sha = entrySum(key, { names, log, binary, compile_ms: compileMs });
  database
    .prepare('INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    .run(
      key,
      keyJson,
      target,
      toolchain,
      binary.length,
      sha,
      names,
      log,
      compileMs,
      now,
      now,
      binary,
    );
}

export function deleteEntry(database: Database, key: Uint8Array): void {
  database.prepare('DELETE FROM entry WHERE key = ?').run(key);
}

export function touchEntries(database: Database, keys: Iterable<Uint8Array>, now: number): void {
  const statement = database.prepare('UPDATE entry SET last_used = ? WHERE key = ?');
  for (const key of keys) statement.run(now, key);
}

export function countEntries(database: Database): number {
  return readNumber(database.prepare('SELECT count(*) AS n FROM entry').get(), 'n');
}

/** All keys, for a pass over the whole store. */
export function listKeys(database: Database): Uint8Array[] {
  const rows = database.prepare('SELECT key FROM entry ORDER BY last_used DESC').all();
  return rows.flatMap(({ key }) => (key instanceof Uint8Array ? [key] : []));
}

function keyNames(json: string): string[] {
  try {
    const fields: unknown = JSON.parse(json);
    if (typeof fields !== 'object' || fields === null || !('names' in fields)) return [];
    return Array.isArray(fields.names) ? fields.names.map(String) : [];
  } catch {
    return [];
  }
}

/** Descriptions of all entries, most recently used first. */
export function listEntries(database: Database): EntryInfo[] {
  return database
    .prepare(
      'SELECT key, key_json, target, toolchain, size, compile_ms, created, last_used FROM entry ORDER BY last_used DESC',
    )
    .all()
    .map((row) => ({
      key: row['key'] instanceof Uint8Array ? Buffer.from(row['key']).toString('hex') : '',
      target: String(row['target']),
      toolchain: String(row['toolchain']),
      names: keyNames(String(row['key_json'])),
      bytes: readNumber(row, 'size'),
      compileMs: readNumber(row, 'compile_ms'),
      created: new Date(readNumber(row, 'created')),
      lastUsed: new Date(readNumber(row, 'last_used')),
    }));
}
