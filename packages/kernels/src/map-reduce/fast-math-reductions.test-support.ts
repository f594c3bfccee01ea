import { grad, ops, reduction, vi, vj } from '@mercer/formula';
import type { MapReduceCase } from './map-reduce-check.test-support.js';

/** Formulas of every function that `fastMath` changes, near 1 so that their bounds are few units. */
function formulaOf(dim: number): ReturnType<typeof ops.mul> {
  const [x, y] = [vi(0, dim), vj(1, dim)];
  const near = ops.add(2, ops.div(ops.sqDist(x, y), 4 * dim));
  return ops.concat(
    ops.div(1, near),
    ops.log(near),
    ops.powf(near, -1.7),
    ops.mul(ops.sin(near), ops.cos(near)),
    ops.tanh(near),
  );
}

const common = { dtype: 'float32', fastMath: true, units: 120 } as const;

/** Written out, in loops over long vectors, and a gradient. */
export const FAST_CASES: readonly (readonly [name: string, Omit<MapReduceCase, 'ranges'>])[] = [
  ['written out', { ...common, reduction: reduction('Sum', formulaOf(3)), rowsI: 70, rowsJ: 130 }],
  ['in loops', { ...common, reduction: reduction('Sum', formulaOf(150)), rowsI: 70, rowsJ: 130 }],
  [
    'a gradient, in means',
    {
      ...common,
      reduction: reduction('Mean', grad(formulaOf(3), vi(0, 3), 1)),
      rowsI: 33,
      rowsJ: 64,
    },
  ],
];
