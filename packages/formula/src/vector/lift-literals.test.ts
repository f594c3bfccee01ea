import { describe, expect, it } from 'vitest';
import { finish } from '../steps.js';
import { evaluateVector } from './evaluate-vector.js';
import { pm, vi, vj } from './inputs.js';
import { liftLiteralsSteps, type LiftedLiterals } from './lift-literals.js';
import { inputsOf } from './post-order-vector.js';
import * as ops from './operations/index.js';
import type { VectorExpr } from './vector-expr.js';

const x = vi(0, 3);
const y = vj(1, 3);
const lift = (root: VectorExpr): LiftedLiterals | undefined => finish(liftLiteralsSteps(root, 2));

describe('numbers of a formula as a parameter', () => {
  const gaussian = (h: number, scale: number): VectorExpr =>
    ops.mul(ops.exp(ops.div(ops.sqDist(x, y), -h)), scale);

  it('are left out of the node: formulas that differ in them alone become one', () => {
    const [first, second] = [lift(gaussian(2.5, 3)), lift(gaussian(0.75, 7))];
    expect(first?.formula).toBe(second?.formula);
    expect(first?.literals).toEqual([-2.5, 3]);
    expect(second?.literals).toEqual([-0.75, 7]);
    expect(inputsOf(first!.formula)).toContain(pm(2, 2));
  });

  it('give the same values', () => {
    const rows = { i: [0.5, -1, 2], j: [0.25, 1.5, -2] };
    const f = ops.add(ops.mul(gaussian(1.25, 0.5), x), ops.sub(4, ops.div(7, y)));
    const lifted = lift(f);
    expect(lifted?.literals).toHaveLength(4);
    const given = evaluateVector(f, [rows.i, rows.j]);
    const asParameter = [rows.i, rows.j, lifted!.literals];
    expect(evaluateVector(lifted!.formula, asParameter)).toEqual(given);
  });

  it('stay where formulas are simplified by them, and where they are no operands', () => {
    for (const f of [
      ops.add(x, 0),
      ops.mul(x, 1),
      ops.mul(x, -1),
      ops.pow(x, 3),
      ops.div(x, Infinity),
      ops.exp(x),
    ]) {
      expect(lift(f)).toBeUndefined();
    }
  });

  it('stay where there are many, and in long formulas', () => {
    let many: VectorExpr = x;
    for (let k = 2; k < 40; k++) many = ops.add(many, k);
    expect(lift(many)).toBeUndefined();
    let long: VectorExpr = ops.mul(x, 2.5);
    for (let k = 0; k < 3000; k++) long = ops.sin(long);
    expect(lift(long)).toBeUndefined();
  });
});
