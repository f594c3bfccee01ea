import { describe, expectTypeOf, it } from 'vitest';
import {
  defineOp,
  diff,
  evaluateReduction,
  evaluateVector,
  grad,
  ops,
  outputsOf,
  parseFormula,
  parseReduction,
  pm,
  printFormula,
  reduction,
  reductionGradient,
  scalarOf,
  simplifyVector,
  vi,
  type ElementwiseOp,
  type Kind,
  type NodeOfKind,
  type RealExpr,
  type Reduction,
  type ReductionGradient,
  type ReductionOutput,
  type ReductionValues,
  type VariableNode,
  type VectorExpr,
} from '../plan.js';

const x = vi(0, 3);

describe('the vector level', () => {
  it('builds formulas from formulas and numbers', () => {
    expectTypeOf(x).toEqualTypeOf<VariableNode>();
    expectTypeOf(ops.mul(2, x)).toEqualTypeOf<VectorExpr>();
    expectTypeOf(grad(ops.exp(x), x)).toEqualTypeOf<VectorExpr>();
    expectTypeOf(diff(x, [x], [1])).toEqualTypeOf<VectorExpr>();
    expectTypeOf(parseFormula('1')).toEqualTypeOf<VectorExpr>();
    expectTypeOf(simplifyVector(x)).toEqualTypeOf<VectorExpr>();
    expectTypeOf(printFormula(x)).toBeString();
    expectTypeOf(evaluateVector(x, [[1]])).toEqualTypeOf<Float64Array>();
    // @ts-expect-error text is no formula
    ops.mul('x', x);
    // @ts-expect-error one argument is missing
    ops.sqDist(x);
    // @ts-expect-error one argument too many
    ops.exp(x, x);
    // @ts-expect-error a dim is missing
    vi(0);
  });

  it('is a discriminated union', () => {
    expectTypeOf<VectorExpr['kind']>().toEqualTypeOf<Kind>();
    const node: VectorExpr = ops.sum(x);
    if (node.kind === 'components')
      expectTypeOf(node.combine).toEqualTypeOf<'sum' | 'max' | 'min' | 'argmax' | 'argmin'>();
    if (node.kind === 'elementwise') {
      expectTypeOf(node.op).toEqualTypeOf<ElementwiseOp>();
      expectTypeOf(scalarOf(node)).toEqualTypeOf<RealExpr>();
    }
    expectTypeOf<NodeOfKind<'slice'>['step']>().toBeNumber();
    expectTypeOf<NodeOfKind<'components'>>().not.toHaveProperty('step');
  });

  it('types operations of defineOp by the number of their names', () => {
    const swish = defineOp('Swish', ['x', 'beta'], (args) => {
      expectTypeOf(args).toEqualTypeOf<{ readonly x: VectorExpr; readonly beta: VectorExpr }>();
      return ops.mul(args.x, args.beta);
    });
    expectTypeOf(swish(x, 2)).toEqualTypeOf<VectorExpr>();
    // @ts-expect-error beta is missing
    swish(x);
    // @ts-expect-error an expression returns a formula
    defineOp('Bad', ['x'], () => 'x');
  });

  it('describes reductions', () => {
    expectTypeOf(reduction('Sum', x)).toEqualTypeOf<Reduction>();
    expectTypeOf(parseReduction('Sum_Reduction(1, 0)')).toEqualTypeOf<Reduction>();
    expectTypeOf(outputsOf(reduction('Sum', x))).toEqualTypeOf<readonly ReductionOutput[]>();
    expectTypeOf(
      reductionGradient(reduction('Sum', x), pm(1, 1), 1),
    ).toEqualTypeOf<ReductionGradient>();
    expectTypeOf(evaluateReduction).returns.toEqualTypeOf<ReductionValues>();
    // @ts-expect-error no such reduction
    reduction('Median', x);
    // @ts-expect-error no such axis
    reduction('Sum', x, { axis: 2 });
  });
});
