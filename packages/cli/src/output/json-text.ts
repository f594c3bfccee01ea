import { safeLines } from './safe-text.js';

/**
 * JSON text that loses nothing a reader needs: bigint as text, NaN and infinities as the texts `nan`, `inf`, `-inf`
 * (JSON has no word for them).
 */
export function jsonText(value: unknown): string {
  return safeLines(JSON.stringify(value, replacer, 2));
}

/** The same on one line, for programs that read a line at a time. */
export function jsonLine(value: unknown): string {
  return safeLines(JSON.stringify(value, replacer));
}

function replacer(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  }
  if (value instanceof Map) return Object.fromEntries(value);
  return value;
}
