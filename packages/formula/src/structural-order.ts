import type { Expr } from './expr.js';
import { OPS } from './op.js';

/**
 * A total order of expressions by content, the same in every process (ids are not): constants
 * first, then variables by name, then by operation and arguments. 0 exactly for `===` nodes.
 */
export function compareStructure(a: Expr, b: Expr): number {
  if (a === b) return 0;
  const byOp = OPS.indexOf(a.op) - OPS.indexOf(b.op);
  if (byOp !== 0) return byOp;
  if (a.value !== undefined && b.value !== undefined) return compareNumbers(a.value, b.value);
  if (a.name !== undefined && b.name !== undefined) return a.name < b.name ? -1 : 1;
  if (a.fn !== b.fn) return (a.fn ?? '') < (b.fn ?? '') ? -1 : 1;
  for (const [n, value] of (a.attributes ?? []).entries()) {
    const byNumber = compareNumbers(value, b.attributes?.[n] ?? NaN);
    if (value !== b.attributes?.[n]) return byNumber;
  }
  for (let i = 0; i < a.args.length; i++) {
    const byArg = compareStructure(a.args[i] as Expr, b.args[i] as Expr);
    if (byArg !== 0) return byArg;
  }
  return 0;
}

function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a)) return -1;
  if (Number.isNaN(b)) return 1;
  if (a === b) return Object.is(a, -0) ? -1 : 1;
  return a - b;
}
