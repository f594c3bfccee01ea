import { ops, pm, reduction, vi, vj, type Reduction, type VectorExpr } from '@mercer/formula';
import type { MapReduceProblem } from './problem.js';

type Options = Omit<MapReduceProblem, 'reduction' | 'dtype' | 'batch'>;

const DTYPES = ['float32', 'float64'] as const;
const MANY = { rowsI: 100_000, rowsJ: 100_000 };

const distance = (dim: number): VectorExpr => ops.sqDist(vi(0, dim), vj(1, dim));
const scaled = (dim: number): VectorExpr => ops.neg(ops.mul(pm(3, 1), distance(dim)));
const weight = vj(2, 1);
const gaussian = (dim: number): VectorExpr => ops.mul(ops.exp(scaled(dim)), weight);
const laplacian = (dim: number): VectorExpr =>
  ops.mul(ops.exp(ops.neg(ops.sqrt(distance(dim)))), weight);
const gradient = (dim: number): VectorExpr =>
  ops.mul(gaussian(dim), ops.sub(vj(1, dim), vi(0, dim)));
const periodic = ops.mul(
  ops.exp(ops.neg(ops.sum(ops.square(ops.sin(ops.sub(vi(0, 3), vj(1, 3))))))),
  weight,
);

/** Sums with radial kernels and their gradients, log-sum-exp, neighbours, K-means. */
const PLAIN: readonly Reduction[] = [
  ...[10, 100].map((dim) => reduction('Sum', gaussian(dim))),
  ...[3, 10, 100, 1000].map((dim) => reduction('Sum', laplacian(dim))),
  reduction('Sum', ops.concat(gaussian(3), gradient(3))),
  reduction('Sum', periodic),
  reduction('LogSumExp', ops.neg(distance(100))),
  reduction('LogSumExp', scaled(3), { weight: ops.abs(weight) }),
  ...[10, 100].map((dim) => reduction('ArgKMin', distance(dim), { k: 10 })),
  reduction('ArgMin', distance(10)),
];

/** In float32: few rows, rows in 16 bits, blocks of rows, other reductions, several of one pass. */
const SPECIAL: readonly (Options & { readonly reduction: Reduction })[] = [
  { ...MANY, rowsI: 1000, reduction: reduction('Sum', gaussian(100)) },
  ...([10, 100] as const).flatMap((dim) =>
    (['float16', 'bfloat16'] as const).map((half) => ({
      ...MANY,
      storage: { 0: half, 1: half, 2: half },
      reduction: reduction('Sum', gaussian(dim)),
    })),
  ),
  { ...MANY, ranges: true, reduction: reduction('Sum', gaussian(10), { axis: 0 }) },
  { ...MANY, ranges: true, reduction: reduction('Sum', gaussian(100)) },
  { ...MANY, reduction: reduction('MaxSumShiftExp', scaled(3)) },
  { ...MANY, reduction: reduction('KMaxArgKMax', ops.dot(vi(0, 10), vj(1, 10)), { k: 10 }) },
  {
    ...MANY,
    reduction: reduction('MinArgMin', distance(3)),
    further: [reduction('MaxArgMax', distance(3)), reduction('Prod', ops.add(distance(3), 1))],
  },
  {
    ...MANY,
    reduction: reduction('Any', ops.lessThan(distance(3), 1)),
    further: [reduction('All', ops.lessThan(distance(3), 9)), reduction('Max', distance(3))],
  },
];

/** What point clouds, neighbours, clusters and transport compute, at the dimensions that are usual there. */
export function usualProblems(): MapReduceProblem[] {
  return [
    ...PLAIN.flatMap((one) =>
      DTYPES.map((dtype) => ({ ...MANY, reduction: one, dtype, batch: 1 })),
    ),
    ...SPECIAL.map((one) => ({ ...one, dtype: 'float32' as const, batch: 1 })),
  ];
}
