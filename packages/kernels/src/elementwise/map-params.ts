import { postOrder, print, type Expr } from '@mercer/formula/plan';
import { upTo } from '../emit/text.js';
import { dtypeBytes, type DType } from '../dtype.js';
import { SHORT_INTEGERS, type ParameterSpelling } from '../emit/parameter-text.js';
import { type KernelCost, type Scalars, scalar } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import { elementInfo } from './element-type.js';
import type { MapPlan } from './map-plan-types.js';

/** `map f32 f64 -> f32 strided2: x + y * scale` and the like. */
export function mapName({ results, inputs, mode, rank, segments }: MapPlan): string {
  const tags = inputs.map(({ dtype }) => `${elementInfo(dtype).tag} `).join('');
  const to = results.map(({ dtype }) => elementInfo(dtype).tag).join(' ');
  const formulas = results.map(({ expr }) => shownFormula(expr)).join('; ');
  const times = segments === undefined ? '' : ` in ${segments} segments`;
  return `map ${tags}-> ${to} ${mode}${mode === 'linear' ? '' : String(rank)}${times}: ${formulas}`;
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

/** What a result is in the text of a kernel: its pointer, the prefix of its strides, and the offset of an element. */
export function mapResults({ results }: Pick<MapPlan, 'results'>): readonly {
  readonly dtype: DType;
  readonly pointer: string;
  readonly stride: string;
  readonly offset: string;
}[] {
  return results.map(({ dtype }, r) =>
    results.length === 1
      ? { dtype, pointer: 'out', stride: 'd', offset: 'to' }
      : { dtype, pointer: `out${r}`, stride: `d${r}_`, offset: `to${r}` },
  );
}

/** Where an element of each operand stands: the name of the offset, what it starts at, and the prefix of its strides. */
export const mapOffsets = (
  plan: Pick<MapPlan, 'results' | 'inputs' | 'indices'>,
): readonly { readonly name: string; readonly start: string; readonly stride: string }[] => [
  ...mapResults(plan).map(({ offset, stride }) => ({ name: offset, start: '0', stride })),
  ...plan.inputs.map((_, k) => ({ name: `from${k}`, start: '0', stride: `s${k}_` })),
  ...plan.indices.map((_, j) => ({ name: `index${j}`, start: `i${j}`, stride: `i${j}_` })),
];

/** Prefixes of the strides over the dimensions, in order: the results, the inputs, the indices. */
export const stridePrefixes = (
  plan: Pick<MapPlan, 'results' | 'inputs' | 'indices'>,
): readonly string[] => mapOffsets(plan).map(({ stride }) => stride);

/** For each segment the inputs, the results, extents `n`, strides and the first value of each index; then the parameters. */
export function mapParams(plan: MapPlan): readonly KernelParam[] {
  const names = mapVariables(plan);
  const own = segmentNames(plan).flatMap((nameOf) => [
    ...plan.inputs.map(({ dtype }, k) => pointer(nameOf(names.inputs[k] ?? ''), dtype, 'read')),
    ...mapResults(plan).map((result) => pointer(nameOf(result.pointer), result.dtype, 'write')),
    ...segmentIntegers(plan).map((name) => int64(nameOf(name))),
  ]);
  return [...own, ...names.parameters.map(float64)];
}

/** Bytes of the parameters of a map, which have eight each. */
export const parameterBytes = (plan: MapPlan): number => 8 * mapParams(plan).length;

/** The integers of a segment. A GPU needs the block behind the last of each, of linear ones their extents beside, and of others how many threads go along a row. */
export function segmentIntegers(plan: MapPlan): readonly string[] {
  const isMany = plan.segments !== undefined && plan.target.kind === 'cuda';
  if (isMany && plan.mode === 'linear') return ['n0', 'end'];
  const dims = ['n', ...stridePrefixes(plan)].flatMap((prefix) =>
    upTo(plan.rank).map((i) => prefix + String(i)),
  );
  return [
    ...dims,
    ...mapVariables(plan).indices,
    ...walkIntegers(plan),
    ...(isMany ? ['width', 'end'] : []),
  ];
}

/**
 * What a GPU walks a map by that is not linear: the rows of a block, and for each extent by which it divides what 2^32 - 1 holds of it, which places
 * of 64 bits do not need. So maps that lie alike have the same parameters whatever their sizes.
 */
const walkIntegers = (plan: MapPlan): readonly string[] =>
  plan.walk === undefined ? [] : ['span', ...dividedDims(plan).map((i) => `inverse${i}`)];

/** The dimensions by whose extents the number of a row is divided. */
export const dividedDims = ({ rank }: Pick<MapPlan, 'rank'>): readonly number[] =>
  upTo(rank - 1).slice(1);

/** What the parameters of each segment are called, by their names in a map alone. */
export const segmentNames = ({
  segments,
}: Pick<MapPlan, 'segments'>): readonly ((name: string) => string)[] =>
  segments === undefined
    ? [(name) => name]
    : Array.from({ length: segments }, (_, s) => (name) => `${name}_of${s}`);

/** How texts spell them. */
export function mapSpelling(plan: MapPlan): ParameterSpelling {
  const elements = segmentNames(plan).flatMap((nameOf) => [
    ...plan.inputs.map(({ dtype }, k) => [nameOf(`x${k}`), elementInfo(dtype).storage] as const),
    ...mapResults(plan).map(
      ({ dtype, pointer }) => [nameOf(pointer), elementInfo(dtype).storage] as const,
    ),
  ]);
  return { integers: SHORT_INTEGERS, elements: Object.fromEntries(elements) };
}

/** Elements of each result, of each segment. */
export const segmentCounts = (plan: MapPlan, scalars: Scalars): readonly number[] =>
  segmentNames(plan).map((nameOf) =>
    upTo(plan.rank).reduce((n, i) => n * scalar(scalars, nameOf(`n${i}`)), 1),
  );

/** Elements of each result, of all segments. */
export const mapCount = (plan: MapPlan, scalars: Scalars): number =>
  segmentCounts(plan, scalars).reduce((sum, n) => sum + n, 0);

/** Each element of an input read once however often it is repeated, the results written once. */
export function mapCost(plan: MapPlan, scalars: Scalars): KernelCost {
  const count = mapCount(plan, scalars);
  const read = plan.inputs.map(({ dtype, repeated }, k) =>
    plan.segments === undefined
      ? upTo(plan.rank).reduce(
          (bytes, i) =>
            scalar(scalars, `s${k}_${i}`) === 0 ? bytes : bytes * scalar(scalars, `n${i}`),
          dtypeBytes(dtype),
        )
      : dtypeBytes(dtype) * (repeated ? plan.segments : count),
  );
  const exprs = plan.results.map(({ expr }) => expr);
  const operations = postOrder(...exprs).filter(({ args }) => args.length > 0).length;
  return {
    bytes: plan.results.reduce(
      (sum, { dtype }) => sum + count * dtypeBytes(dtype),
      read.reduce((a, b) => a + b, 0),
    ),
    flops: count * operations,
  };
}

/** Characters of the formula in a kernel's name. */
const LONGEST = 60;

/** Operations that are printed to be cut: printed, a part that is used again stands there again, and a chain of squares doubles each time. */
const MOST_PRINTED = 10_000;

/** The beginning of a formula, for the name of a kernel. */
export function shownFormula(expr: Expr): string {
  const nodes = postOrder(expr);
  const printed = new Map<Expr, number>();
  for (const node of nodes) {
    printed.set(
      node,
      node.args.reduce((sum, arg) => sum + (printed.get(arg) ?? 0), 1),
    );
  }
  if ((printed.get(expr) ?? 0) > MOST_PRINTED) return `${nodes.length} operations`;
  const text = print(expr);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
