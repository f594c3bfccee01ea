import { describe, expectTypeOf, it } from 'vitest';
import {
  abs,
  add,
  build,
  constant,
  differentiate,
  evaluate,
  fold,
  lt,
  pow,
  print,
  select,
  simplify,
  substitute,
  tanh,
  variable,
  variables,
  type BoolExpr,
  type Expr,
  type NodeOf,
  type Op,
  type RealExpr,
  type RuleTable,
} from './plan.js';

const x = variable('x');

describe('public signatures', () => {
  it('tell real from boolean', () => {
    expectTypeOf(add(x, 1)).toEqualTypeOf<RealExpr>();
    expectTypeOf(lt(x, 1)).toEqualTypeOf<BoolExpr>();
    expectTypeOf(select(lt(x, 1), x, 0)).toEqualTypeOf<RealExpr>();
    expectTypeOf(tanh(x)).toEqualTypeOf<RealExpr>();
    expectTypeOf(constant(1)).toEqualTypeOf<RealExpr>();
    expectTypeOf(build('pow', [x, 2])).toEqualTypeOf<RealExpr>();
    expectTypeOf(build('ge', [x, 2])).toEqualTypeOf<BoolExpr>();
    expectTypeOf<RealExpr>().toExtend<Expr>();
    expectTypeOf<BoolExpr>().not.toExtend<RealExpr>();
  });

  it('refuse wrong types and counts at compile time', () => {
    // @ts-expect-error a comparison is not a number
    add(lt(x, 1), 1);
    // @ts-expect-error a number is not a condition
    select(x, 1, 2);
    // @ts-expect-error one argument missing
    pow(x);
    // @ts-expect-error one argument too many
    abs(x, x);
    // @ts-expect-error text is not an operand
    add('x', 1);
    // @ts-expect-error leaves have their own constructors
    build('var', []);
  });

  it('keep the type through a rewriting', () => {
    expectTypeOf(simplify(lt(x, 1))).toEqualTypeOf<BoolExpr>();
    expectTypeOf(substitute(x, { x: 1 })).toEqualTypeOf<RealExpr>();
    expectTypeOf(differentiate(x, 'x')).toEqualTypeOf<RealExpr>();
  });

  it('give plain results', () => {
    expectTypeOf(evaluate).toEqualTypeOf<
      (expr: Expr, bindings?: Readonly<Record<string, number>>) => number
    >();
    expectTypeOf(print(x)).toBeString();
    expectTypeOf(variables(x)).toEqualTypeOf<string[]>();
  });

  it('demand a rule for every operation', () => {
    expectTypeOf<keyof RuleTable<number>>().toEqualTypeOf<Op>();
    const partial = { add: () => 1 };
    // @ts-expect-error rules are missing
    fold<number>(partial, x);
  });

  it('give rules their arguments as tuples and leaves their payload', () => {
    expectTypeOf<Parameters<RuleTable<number>['select']>[0]>().toEqualTypeOf<
      readonly [number, number, number]
    >();
    expectTypeOf<NodeOf<'const'>['value']>().toBeNumber();
    expectTypeOf<NodeOf<'var'>['name']>().toBeString();
    expectTypeOf<NodeOf<'select'>['args']>().toEqualTypeOf<
      readonly [BoolExpr, RealExpr, RealExpr]
    >();
  });
});
