import { postOrder } from '@mercer/formula';
import { dtypeBytes } from '../dtype.js';
import { SHORT_INTEGERS, type ParameterSpelling } from '../emit/parameter-text.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import { scalar } from './copy-params.js';
import { elementInfo } from './element-type.js';
import type { MapPlan } from './map-plan.js';
import { shownFormula } from './shown-formula.js';
import { indices } from './strided-text.js';

/** `map f32 f64 -> f32 strided2: x + y * scale` and the like. */
export function mapName({ expr, inputs, out, mode, rank }: MapPlan): string {
  const tags = inputs.map(({ dtype }) => `${elementInfo(dtype).tag} `).join('');
  return `map ${tags}-> ${elementInfo(out).tag} ${mode}${mode === 'linear' ? '' : String(rank)}: ${shownFormula(expr)}`;
}

/** What a name of the formula is in the text of a kernel: inputs `x0..`, parameters `p0..`, indices `i0..`. */
export function mapVariables({
  inputs,
  parameters,
  indices: names,
}: Pick<MapPlan, 'inputs' | 'parameters' | 'indices'>): {
  readonly inputs: readonly string[];
  readonly parameters: readonly string[];
  readonly indices: readonly string[];
} {
  return {
    inputs: inputs.map((_, k) => `x${k}`),
    parameters: parameters.map((_, k) => `p${k}`),
    indices: names.map((_, j) => `i${j}`),
  };
}

/** Prefixes of the strides over the dimensions, in order: the output, the inputs, the indices. */
export function stridePrefixes({ inputs, indices: names }: MapPlan): readonly string[] {
  return ['d', ...inputs.map((_, k) => `s${k}_`), ...names.map((_, j) => `i${j}_`)];
}

/** The inputs, the output, extents `n`, strides, the first value of each index, and the parameters. */
export function mapParams(plan: MapPlan): readonly KernelParam[] {
  const names = mapVariables(plan);
  const dims = ['n', ...stridePrefixes(plan)].flatMap((prefix) =>
    indices(plan.rank).map((i) => prefix + String(i)),
  );
  return [
    ...plan.inputs.map(({ dtype }, k): KernelParam => ({
      name: names.inputs[k] ?? '',
      kind: 'pointer',
      dtype,
      access: 'read',
    })),
    { name: 'out', kind: 'pointer', dtype: plan.out, access: 'write' },
    ...[...dims, ...names.indices].map((name): KernelParam => ({
      name,
      kind: 'scalar',
      type: 'int64',
    })),
    ...names.parameters.map((name): KernelParam => ({ name, kind: 'scalar', type: 'float64' })),
  ];
}

/** How texts spell them. */
export function mapSpelling({ inputs, out }: MapPlan): ParameterSpelling {
  const read = inputs.map(({ dtype }, k) => [`x${k}`, elementInfo(dtype).storage] as const);
  const elements = { ...Object.fromEntries(read), out: elementInfo(out).storage };
  return { integers: SHORT_INTEGERS, elements };
}

/** Elements of the output. */
export function mapCount(plan: MapPlan, scalars: Scalars): number {
  return indices(plan.rank).reduce((n, i) => n * scalar(scalars, `n${i}`), 1);
}

/** Each element of an input read once however often it is repeated, the output written once. */
export function mapCost(plan: MapPlan, scalars: Scalars): KernelCost {
  const count = mapCount(plan, scalars);
  const read = plan.inputs.map(({ dtype }, k) =>
    indices(plan.rank).reduce(
      (bytes, i) =>
        scalar(scalars, `s${k}_${i}`) === 0 ? bytes : bytes * scalar(scalars, `n${i}`),
      dtypeBytes(dtype),
    ),
  );
  const operations = postOrder(plan.expr).filter(({ args }) => args.length > 0).length;
  return {
    bytes: read.reduce((a, b) => a + b, count * dtypeBytes(plan.out)),
    flops: count * operations,
  };
}
