import type { KeyFields } from './key.js';
import type { Database } from './store/database.js';

const CANDIDATES = 200;

function shown(value: unknown): string {
  const text = Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function parse(json: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(json));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function differences(wanted: KeyFields, stored: Record<string, unknown>): string[] {
  return Object.entries(wanted).flatMap(([field, value]: [string, unknown]) => {
    const other = stored[field];
    if (JSON.stringify(value) === JSON.stringify(other)) return [];
    if (field === 'source') return ['source differs'];
    return [`${field} is ${shown(value)}, there ${shown(other)}`];
  });
}

/** Why a key was not found: how it differs from the nearest entry, in words. For debug printing. */
export function missReason(database: Database, wanted: KeyFields): string {
  const rows = database
    .prepare('SELECT key_json FROM entry ORDER BY last_used DESC LIMIT ?')
    .all(CANDIDATES);
  let nearest: string[] | undefined;
  for (const row of rows) {
    const stored = parse(row['key_json']);
    if (!stored) continue;
    const found = differences(wanted, stored);
    // Another program's kernel is no neighbour: one that shares neither names nor source says nothing.
    const related =
      !found.some((difference) => difference.startsWith('names')) ||
      !found.includes('source differs');
    if (related && (nearest === undefined || found.length < nearest.length)) nearest = found;
  }
  if (nearest === undefined) return rows.length === 0 ? 'the store is empty' : 'never seen before';
  if (nearest.length === 0) return 'it was stored a moment ago or has just been deleted';
  return `the nearest entry differs: ${nearest.join('; ')}`;
}
