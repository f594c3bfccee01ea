import { add, div, exp, gt, lt, max, mul, pow, select, sub, tanh, variable } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { DTYPES } from '../dtype.js';
import type { NamedKernel } from '../named-kernel.test-support.js';
import { MAX_COPY_RANK } from './collapse-dims.js';
import { emitSum, planSum } from './emit-sum.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';
import { otherWalks } from './map-walk.js';
import type { MapProblem } from './map-plan-types.js';
import { planOne, type OneResult } from './one-result.test-support.js';

const x = variable('x');
const y = variable('y');
const scale = variable('scale');
const row = variable('row');
const column = variable('column');

/**
 * Problems whose kernels together show what the family can print: each dtype on both sides, packed, strided and turned
 * operands, repeated ones, ranks from 1 to 8, parameters, indices, and the functions with helpers.
 */
export function mapProblems(): readonly OneResult[] {
  const problems: OneResult[] = [];
  for (const dtype of DTYPES) {
    const input = { name: 'x', dtype, strides: [100, 1] };
    const out = { dtype, strides: [100, 1] };
    const scaled = { expr: add(mul(x, scale), 1), parameters: { scale: 2 } };
    problems.push({ ...scaled, shape: [50, 100], inputs: [input], out });
    problems.push({ ...scaled, shape: [50, 90], inputs: [input], out });
  }
  for (const dtype of ['float32', 'float64'] as const) {
    const matrix = { name: 'x', dtype, strides: [200, 1] };
    const turned = { name: 'y', dtype, strides: [1, 200] };
    const common = { shape: [200, 200], out: { dtype, strides: [200, 1] } };
    const indices = { row: 0, column: 1 };
    problems.push({ ...common, expr: mul(0.5, add(x, y)), inputs: [matrix, turned] });
    problems.push({
      ...common,
      indices,
      inputs: [matrix],
      expr: select(lt(row, column), 0, x),
    });
    problems.push({
      ...common,
      inputs: [matrix, { name: 'y', dtype, strides: [0, 0] }],
      expr: select(gt(x, scale), div(tanh(x), y), exp(x)),
      parameters: { scale: 0.5 },
    });
    problems.push({
      ...common,
      inputs: [matrix, { name: 'y', dtype, strides: [0, 1] }],
      expr: max(pow(x, y), pow(sub(x, y), scale)),
      parameters: { scale: 3 },
    });
  }
  for (let rank = 1; rank <= 8; rank++) {
    // extents of 2 in memory for 3 keep the dimensions apart
    const strides = Array.from({ length: rank }, (_, i) => 3 ** (rank - i));
    problems.push({
      expr: sub(x, variable('last')),
      shape: strides.map(() => 2),
      inputs: [{ name: 'x', dtype: 'float32', strides }],
      indices: { last: rank - 1 },
      out: { dtype: 'float32', strides },
    });
  }
  return problems;
}

/** A step of gradient descent with momentum: two results of different dtypes, and a parameter. */
const SEVERAL_RESULTS: MapProblem = {
  shape: [50, 100],
  inputs: [
    { name: 'x', dtype: 'float32', strides: [100, 1] },
    { name: 'y', dtype: 'float64', strides: [1, 50] },
  ],
  parameters: { scale: 0.5 },
  results: [
    { expr: sub(x, mul(scale, y)), dtype: 'float32', strides: [100, 1] },
    { expr: add(mul(0.9, y), x), dtype: 'float64', strides: [1, 50] },
  ],
};

/** Sums over an axis, each text once. */
export function defaultSums({ kind }: DeviceLimits): NamedKernel[] {
  if (kind === 'cpu') return [];
  const kernels = new Map<string, NamedKernel>();
  for (const from of ['float32', 'float64'] as const) {
    for (const to of ['float32', 'float64'] as const) {
      for (const count of [10, 1000]) {
        const kernel = emitSum(planSum({ from, to, outputs: 1, count }), kind);
        kernels.set(kernel.source, { name: kernel.name, kernel });
      }
    }
  }
  return [...kernels.values()];
}

/** The kernels of `mapProblems` on a device, each text once, and of the largest and the one of several results those of other sizes. */
export function defaultMaps(limits: DeviceLimits): NamedKernel[] {
  const kernels = new Map<string, NamedKernel>();
  const plans = [
    ...mapProblems().map((problem) => planOne(problem, limits).plan),
    planMap(SEVERAL_RESULTS, limits).plan,
  ];
  const largest = plans.filter(({ rank, results }) => rank === MAX_COPY_RANK || results.length > 1);
  for (const plan of [...plans, ...largest.flatMap(otherWalks)]) {
    const kernel = emitMap(plan);
    kernels.set(kernel.source, { name: kernel.name, kernel });
  }
  return [...kernels.values()];
}
