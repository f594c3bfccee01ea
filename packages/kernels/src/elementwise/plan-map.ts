import { variables } from '@mercer/formula';
import { parameterLimit, type DeviceLimits } from '../device-limits.js';
import { PlanError } from '../plan-error.js';
import { collapseDims, dimScalars } from './collapse-dims.js';
import { parameterBytes, stridePrefixes } from './map-params.js';
import type { MapPlan, MapProblem, PlannedMap } from './map-plan-types.js';
import { coalescedDims, walkOf, walkScalars } from './map-walk.js';

/** Most inputs and results of a map on a CPU, where a task has a buffer for each on its stack. */
const MOST_CPU_OPERANDS = 2 ** 14;

/** float32 counts every index up to here. */
const LARGEST_FLOAT32_EXTENT = 2 ** 24;

/**
 * The kernel for a map. The shape must hold at least one element, and a result may be the same memory as an
 * input of the same dtype and strides.
 *
 * ```ts
 * import { mul, variable } from '@mercer/formula';
 * import { planMap } from '@mercer/kernels';
 * const { plan, scalars } = planMap(
 *   {
 *     results: [
 *       { expr: mul(variable('scale'), variable('x')), dtype: 'float32', strides: [4, 1] },
 *     ],
 *     shape: [3, 4],
 *     inputs: [{ name: 'x', dtype: 'float32', strides: [4, 1] }],
 *     parameters: { scale: 2.5 },
 *   },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.mode, scalars); // linear { n0: 12, d0: 1, s0_0: 1, p0: 2.5 }
 * ```
 *
 * @throws PlanError where a kernel cannot have so many inputs and results, or more than eight dimensions are left after collapsing
 */
export function planMap(problem: MapProblem, limits: DeviceLimits): PlannedMap {
  const { results, shape, parameters = {}, indices = {}, computesIn } = problem;
  const names = new Set(results.flatMap(({ expr }) => variables(expr)));
  const read = problem.inputs.flatMap((input, index) =>
    names.has(input.name) ? [{ ...input, index }] : [],
  );
  const indexNames = Object.keys(indices).filter((name) => names.has(name));
  const parameterNames = Object.keys(parameters).filter((name) => names.has(name));
  const axes = indexNames.map((name) => indices[name] ?? 0);
  const { dims: collapsed, offsets } = collapseDims(
    shape,
    [
      ...results.map(({ strides }) => strides),
      ...read.map(({ strides }) => strides),
      // an index is the offset of an operand that steps by 1 along its axis
      ...axes.map((axis) => shape.map((_, i) => (i === axis ? 1 : 0))),
    ],
    ['map', 'Map slices, or make the inputs contiguous'],
  );
  const target = targetOf(limits);
  const dims = target.kind === 'cuda' ? coalescedDims(collapsed, results.length) : collapsed;
  const inputStride = (input: number, dim: number): number =>
    dims[dim]?.strides[results.length + input] ?? 0;
  const linear =
    dims.length === 1 &&
    results.every((_, r) => dims[0]?.strides[r] === 1) &&
    read.every((_, k) => inputStride(k, 0) === 0 || inputStride(k, 0) === 1);
  const isDouble =
    computesIn === 'float64' ||
    results.some(({ dtype }) => dtype === 'float64') ||
    read.some(({ dtype }) => dtype === 'float64') ||
    axes.some((axis) => (shape[axis] ?? 0) > LARGEST_FLOAT32_EXTENT);
  const unwalked: MapPlan = {
    family: 'map',
    target,
    results: Object.freeze(results.map(({ expr, dtype }) => Object.freeze({ expr, dtype }))),
    dtype: isDouble ? 'float64' : 'float32',
    mode: linear ? 'linear' : 'strided',
    rank: dims.length,
    inputs: read.map(({ name, dtype }, k) => ({
      name,
      dtype,
      repeated: linear && inputStride(k, 0) === 0,
    })),
    parameters: parameterNames,
    indices: indexNames,
    walk: undefined,
    segments: undefined,
  };
  const plan: MapPlan = Object.freeze({
    ...unwalked,
    walk: target.kind === 'cuda' && !linear ? walkOf(unwalked, dims) : undefined,
  });
  checkOperands(plan, parameterLimit(limits));
  const scalars = dimScalars(dims, stridePrefixes(plan));
  if (plan.walk !== undefined) Object.assign(scalars, walkScalars(plan, scalars));
  axes.forEach((_, j) => (scalars[`i${j}`] = offsets[results.length + read.length + j] ?? 0));
  parameterNames.forEach((name, k) => (scalars[`p${k}`] = parameters[name] ?? 0));
  return {
    plan,
    scalars,
    inputs: read.map(({ index }, k) => ({ index, offset: offsets[results.length + k] ?? 0 })),
    outOffsets: results.map((_, r) => offsets[r] ?? 0),
  };
}

/** @throws PlanError LIMIT */
function checkOperands(plan: MapPlan, most: number): void {
  const { target, inputs, results } = plan;
  const all = `${inputs.length} inputs and ${results.length} results`;
  const bytes = parameterBytes(plan);
  if (target.kind === 'cuda' && bytes > most) {
    throw new PlanError(
      'LIMIT',
      `map: ${all} over ${plan.rank} dimensions need ${bytes} bytes of kernel parameters, a launch on this GPU has ${most}. Split it into several maps${plan.mode === 'linear' ? '' : ', or make the inputs contiguous'}.`,
    );
  }
  if (target.kind === 'cpu' && inputs.length + results.length > MOST_CPU_OPERANDS) {
    throw new PlanError(
      'LIMIT',
      `map: there are ${all}, at most ${MOST_CPU_OPERANDS} together are supported on a CPU. Split it into several maps.`,
    );
  }
}

function targetOf(limits: DeviceLimits): MapPlan['target'] {
  return limits.kind === 'cuda' ? { kind: 'cuda' } : { kind: 'cpu', level: limits.level };
}
