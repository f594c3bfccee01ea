import { createHash } from 'node:crypto';
import type { Steps } from '@mercer/formula';

/** Elements of a list that are written in one step. */
const ELEMENTS = 64;
/** Pieces from which on a hash stands for the text: that of a long formula has millions of characters. */
const PIECES = 256;

/** In steps, a text that two plans share exactly when they are the same as JSON. */
export function* planKey(plan: object): Steps<string> {
  const pieces: string[] = [];
  yield* addJson(plan, pieces);
  if (pieces.length < PIECES) return pieces.join('');
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('base64');
}

function* addJson(value: unknown, pieces: string[]): Steps<void> {
  if (Array.isArray(value) && value.length > ELEMENTS) {
    pieces.push('[');
    for (let at = 0; at < value.length; at += ELEMENTS) {
      const some: unknown[] = value.slice(at, at + ELEMENTS);
      pieces.push(JSON.stringify(some).slice(1, -1), ',');
      yield;
    }
    pieces.push(']');
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    pieces.push('{');
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      pieces.push(`${JSON.stringify(name)}:`);
      yield* addJson(member, pieces);
      pieces.push(',');
    }
    pieces.push('}');
  } else pieces.push(JSON.stringify(value));
}
