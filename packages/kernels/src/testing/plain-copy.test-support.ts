import { isExpr } from '@mercer/formula';

/**
 * A deep copy of a plan: of plain data, and expressions, which are the same for all.
 *
 * @throws TypeError for anything else, such as functions and classes
 */
export function plainCopy<P>(plan: P): P {
  return copied(plan) as P;
}

function copied(value: unknown): unknown {
  if (isExpr(value) || value === undefined) return value;
  if (Array.isArray(value)) return value.map(copied);
  if (typeof value === 'object' && value !== null) {
    if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError('not plain data');
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]));
  }
  if (!['number', 'string', 'boolean'].includes(typeof value))
    throw new TypeError('not plain data');
  return value;
}
