import { createHash } from 'node:crypto';
import { isExpr, type Steps } from '@mercer/formula/plan';

/** Elements of a list that are written in one step. */
const ELEMENTS = 64;
/** Pieces from which on a hash stands for the text: that of a long formula has millions of characters. */
const PIECES = 256;

/** In steps, a text that two plans share exactly when they are the same, as long as both live: expressions are known by their ids. */
export function* planKey(plan: object): Steps<string> {
  const pieces: string[] = [];
  yield* addJson(plan, pieces);
  if (pieces.length < PIECES) return pieces.join('');
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('base64');
}

function* addJson(value: unknown, pieces: string[]): Steps<void> {
  if (isExpr(value)) pieces.push(`#${value.id}`);
  else if (Array.isArray(value)) {
    pieces.push('[');
    for (const [at, element] of value.entries()) {
      yield* addJson(element, pieces);
      pieces.push(',');
      if (at % ELEMENTS === ELEMENTS - 1) yield;
    }
    pieces.push(']');
  } else if (typeof value === 'object' && value !== null) {
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
