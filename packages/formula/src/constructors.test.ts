import { describe, expect, it } from 'vitest';
import {
  abs,
  add,
  build,
  constant,
  evaluate,
  FormulaError,
  fold,
  isExpr,
  lt,
  mul,
  neg,
  OPS,
  postOrder,
  print,
  select,
  SIGNATURES,
  substitute,
  variable,
  variables,
  type ApplyOp,
  type RuleTable,
} from './plan.js';

const x = variable('x');
const y = variable('y');

/** The error that `call` throws. */
function errorOf(call: () => unknown): FormulaError {
  try {
    call();
  } catch (error) {
    if (error instanceof FormulaError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('constructors, misuse', () => {
  it.each([
    ['too few arguments', () => (add as (...args: unknown[]) => unknown)(1), 'ARITY_MISMATCH'],
    ['too many', () => (abs as (...args: unknown[]) => unknown)(1, 2), 'ARITY_MISMATCH'],
    ['a comparison as a number', () => build('add', [lt(x, y), 1]), 'TYPE_MISMATCH'],
    ['a number as a condition', () => build('select', [x, 1, 2]), 'TYPE_MISMATCH'],
    ['a constant as a condition', () => build('select', [1, 1, 2]), 'TYPE_MISMATCH'],
    ['undefined', () => build('neg', [undefined as never]), 'INVALID_ARGUMENT'],
    ['a string', () => build('neg', ['x' as never]), 'INVALID_ARGUMENT'],
    ['a look-alike node', () => build('neg', [{ ...x }]), 'INVALID_ARGUMENT'],
    ['an unknown operation', () => build('tan' as ApplyOp, [x]), 'INVALID_ARGUMENT'],
    ['an inherited name', () => build('toString' as ApplyOp, [x]), 'INVALID_ARGUMENT'],
    ['a leaf by build', () => build('var' as ApplyOp, []), 'INVALID_ARGUMENT'],
    ['a constant of text', () => constant('1' as never), 'INVALID_ARGUMENT'],
    ['an empty name', () => variable(''), 'INVALID_NAME'],
    ['a name with code in it', () => variable('x;y'), 'INVALID_NAME'],
    ['an operation as a name', () => variable('exp'), 'INVALID_NAME'],
    ['nan as a name', () => variable('nan'), 'INVALID_NAME'],
    ['a long name', () => variable('x'.repeat(65)), 'INVALID_NAME'],
    ['a missing binding', () => evaluate(add(x, y), { x: 1 }), 'UNBOUND_VARIABLE'],
    ['an inherited binding', () => evaluate(variable('toString'), {}), 'UNBOUND_VARIABLE'],
    ['a comparison put in', () => substitute(x, { x: lt(x, y) as never }), 'TYPE_MISMATCH'],
  ])('refuses %s', (_, call, code) => {
    const error = errorOf(call);
    expect(error.code).toBe(code);
    // What failed: why. How to fix it.
    expect(error.message).toMatch(/^cannot [^:]+: .+\. [A-Z].*\.$/s);
  });
});

describe('nodes', () => {
  it('are equal exactly when they are the same', () => {
    expect(add(x, mul(y, 2))).toBe(add(variable('x'), mul(variable('y'), constant(2))));
    expect(add(x, y)).not.toBe(add(y, x));
    expect(constant(0)).not.toBe(constant(-0));
    expect(constant(NaN)).toBe(constant(NaN));
    expect(constant(0.1 + 0.2)).not.toBe(constant(0.3));
    expect(neg(2)).toBe(constant(-2));
  });

  it('cannot be changed', () => {
    const node = add(x, y);
    expect(Object.isFrozen(node)).toBe(true);
    expect(Object.isFrozen(node.args)).toBe(true);
    expect(isExpr(node)).toBe(true);
    expect(isExpr({ ...node })).toBe(false);
  });

  it('come once each in post-order, arguments first', () => {
    const shared = mul(x, x);
    const order = postOrder(add(shared, shared));
    expect(order.map(print)).toEqual(['x', 'x * x', 'x * x + x * x']);
  });

  it('have one signature per operation', () => {
    expect(Object.keys(SIGNATURES)).toEqual([...OPS]);
    expect(OPS).toHaveLength(25);
  });
});

describe('traversals', () => {
  it('visit a shared node once', () => {
    let visits = 0;
    const count = (): number => ++visits;
    const table = Object.fromEntries(OPS.map((op) => [op, count])) as unknown as RuleTable<number>;
    let tower = x;
    for (let i = 0; i < 60; i++) tower = add(tower, tower);
    fold(table, tower);
    expect(visits).toBe(61);
  });

  it('list variables sorted', () => {
    expect(variables(select(lt(y, x), variable('Z'), 1))).toEqual(['Z', 'x', 'y']);
  });

  it('substitute all at once', () => {
    expect(substitute(mul(x, y), { x: y, y: 3 })).toBe(mul(y, 3));
    const untouched = mul(x, x);
    expect(substitute(untouched, { y: 1 })).toBe(untouched);
    expect(print(substitute(select(lt(x, y), x, y), { x: 1 }))).toBe('select(1 < y, 1, y)');
  });
});
