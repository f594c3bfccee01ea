import {
  abs,
  postOrder,
  pow,
  sub,
  variable,
  variables,
  type Op,
  print,
} from '@mercer/formula/plan';
import { own } from '@mercer/options';
import type { CudaLimits } from '../../device-limits.js';
import { PlanError } from '../../plan-error.js';
import { planExtras, type PairwiseProblem } from '../problem.js';
import type {
  CudaPairwisePlan,
  DotConfig,
  DotPlan,
  OuterConfig,
  PairPower,
  UnnamedCudaPlan,
} from '../plan-types.js';
import { estimateDot, estimateTile, type RoleSizes } from './estimate.js';
import { pairStep } from './pair-step.js';
import { tileConfigs, type StepWeight } from './tile-configs.js';
import { longestVector } from '../../pair-tile/cuda/neighbours.js';
import { stageBytes, blockThreads } from '../../pair-tile/cuda/tile-operand.js';

/** Sums up to this long are bound by writing the output. */
const LONGEST_OUTER_SUM = 4;
const SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Largest exponent for which lg2 and ex2 hold the published bound of a power. */
const LARGEST_FAST_EXPONENT = 2;

const WEIGHT_OF_POWER = { fast: 'power', accurate: 'heavy', either: 'either' } as const;

/** Operations that become many instructions. */
const LONG_OPERATIONS: readonly Op[] = ['pow', 'exp', 'log', 'tanh', 'call'];

const power = pow(abs(sub(variable('a'), variable('b'))), variable('p'));

/** The plan of a pairwise problem on a GPU: a pure function of the problem and the limits. */
export function planCudaPairwise(problem: PairwiseProblem, limits: CudaLimits): CudaPairwisePlan {
  const swapped = problem.layoutOut === 'column';
  const chosen = choosePower(problem);
  const base = {
    kind: 'cuda' as const,
    dtype: problem.dtype,
    inner: problem.inner,
    outer: problem.outer,
    reduce: problem.reduce,
    swapped,
    rowsLayout: swapped ? problem.layoutB : problem.layoutA,
    columnsLayout: swapped ? problem.layoutA : problem.layoutB,
    alignedRows: swapped ? problem.alignedB : problem.alignedA,
    alignedColumns: swapped ? problem.alignedA : problem.alignedB,
    alignedOut: problem.alignedOut,
    ...(chosen === undefined ? {} : { power: chosen }),
    ...planExtras(problem),
  };
  const size: RoleSizes = {
    rows: swapped ? problem.n : problem.m,
    columns: swapped ? problem.m : problem.n,
    k: problem.k,
    batch: problem.batch,
    ...(problem.symmetric === true ? { symmetric: true } : {}),
  };
  const finish = <P extends UnnamedCudaPlan>(plan: P): P & { readonly summary: string } => {
    const named = { ...plan, summary: summarise(plan) };
    return Object.freeze<P & { readonly summary: string }>(named);
  };

  const { products } = own(problem, 'products');
  if (products !== undefined) return finish({ ...base, strategy: 'products', products });
  if (size.k <= LONGEST_OUTER_SUM) {
    const outerProduct = chooseOuter(problem, size, limits);
    return finish({ ...base, strategy: 'outer', outerProduct });
  }
  const weight = weigh(problem, chosen);
  const { issueSlots } = pairStep(base);
  let best: { seconds: number; plan: CudaPairwisePlan } | undefined;
  const consider = (seconds: number, plan: () => CudaPairwisePlan): void => {
    if (best === undefined || seconds < best.seconds) best = { seconds, plan: plan() };
  };
  for (const tile of tileConfigs(problem.dtype, weight)) {
    if (stageBytes(tile, problem.dtype) > limits.sharedMemPerBlockOptin) continue;
    for (const splitK of SPLITS) {
      if (splitK > 1 && size.k / splitK < 2 * tile.tileK) break;
      const seconds = estimateTile(tile, splitK, size, issueSlots, problem.dtype, limits);
      consider(seconds, () => finish({ ...base, strategy: 'tile', tile, splitK }));
    }
  }
  for (const dot of dotConfigs(base, size, weight)) {
    const seconds = estimateDot(dot, size, issueSlots, problem.dtype, limits);
    consider(seconds, () => finish({ ...base, strategy: 'dot', dot }));
  }
  if (best === undefined) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan for ${limits.arch}: no tile fits its ${limits.sharedMemPerBlockOptin} bytes of shared memory ` +
        `per block. Use a GPU of compute capability 8.0 or newer.`,
    );
  }
  return best.plan;
}

function choosePower(problem: PairwiseProblem): PairPower | undefined {
  if (problem.inner !== power || problem.dtype !== 'float32') return undefined;
  // an exponent in memory is known to the kernel alone
  if (problem.parameters?.includes('p') === true) return 'either';
  const fast = problem.p === undefined || problem.p <= LARGEST_FAST_EXPONENT;
  return fast ? 'fast' : 'accurate';
}

function weigh(problem: PairwiseProblem, way: PairPower | undefined): StepWeight {
  if (way !== undefined) return WEIGHT_OF_POWER[way];
  const { inner, parameters = [] } = problem;
  if (variables(inner).includes('p')) return 'heavy';
  const others = variables(inner).some((name) => parameters.includes(name));
  if (others && postOrder(inner).some(({ op }) => LONG_OPERATIONS.includes(op))) return 'heavy';
  return problem.reduce === 'max' ? 'max' : 'light';
}

/** Threads along the columns first, as many as the row is long; 16-byte stores where allowed. */
function chooseOuter(problem: PairwiseProblem, size: RoleSizes, limits: CudaLimits): OuterConfig {
  const width = longestVector(problem.dtype);
  const vector = problem.alignedOut && size.columns >= width ? width : 1;
  const threadsY0 = Math.min(4, powerOfTwoFrom(size.rows));
  const threadsX = Math.min(256 / threadsY0, powerOfTwoFrom(Math.ceil(size.columns / vector)));
  const threadsY = 256 / threadsX;
  const tiles = (rows: number): number =>
    Math.ceil(size.columns / (threadsX * vector)) * Math.ceil(size.rows / (threadsY * rows));
  const rows = [16, 8, 4, 2].find((n) => tiles(n) * size.batch >= limits.multiprocessors) ?? 1;
  return Object.freeze({ k: size.k, threadsX, threadsY, vector, rows });
}

type Outputs = readonly [rows: number, columns: number];
const FEW_OUTPUTS: readonly Outputs[] = [
  [1, 1],
  [1, 4],
  [4, 1],
  [2, 2],
];
/** Outputs of one group of lanes. */
const DOT_SHAPES: { readonly [weight in 'light' | 'either' | 'heavy']: readonly Outputs[] } = {
  light: [...FEW_OUTPUTS, [4, 4]],
  either: FEW_OUTPUTS,
  heavy: [
    [1, 1],
    [2, 2],
  ],
};

/** Groups of lanes for matrix-vector shapes and for few outputs with a long sum. */
function dotConfigs(
  base: Pick<DotPlan, 'dtype' | 'rowsLayout' | 'columnsLayout'>,
  size: RoleSizes,
  weight: StepWeight,
): DotConfig[] {
  const width = longestVector(base.dtype);
  // a column-major operand is contiguous along its rows: lanes along k would not read it in order
  if (base.rowsLayout === 'column' && size.rows > 1) return [];
  if (base.columnsLayout === 'column' && size.columns > 1) return [];
  const vector = weight === 'heavy' ? 1 : width;
  const lanes = Math.min(32, powerOfTwoFrom(Math.ceil(size.k / vector)));
  const shapes = DOT_SHAPES[weight === 'heavy' || weight === 'either' ? weight : 'light'];
  const configs: DotConfig[] = [];
  for (const [rows, columns] of shapes) {
    if (rows > size.rows || columns > size.columns) continue;
    configs.push({ lanes, warps: 1, rows, columns, vector });
    if (lanes === 32 && size.k >= 8 * 32 * vector) {
      configs.push({ lanes, warps: 8, rows, columns, vector });
    }
  }
  return configs.map((config) => Object.freeze(config));
}

function powerOfTwoFrom(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, count)));
}

/** One readable line about a plan. */
function summarise(plan: UnnamedCudaPlan): string {
  const operand = (layout: string, aligned: boolean): string =>
    `${layout}${aligned ? '' : ' unaligned'}`;
  const parts = [
    `${plan.reduce} of ${print(plan.inner)}`,
    plan.dtype,
    strategy(plan),
    `${operand(plan.rowsLayout, plan.alignedRows)} x ${operand(plan.columnsLayout, plan.alignedColumns)}`,
  ];
  if (plan.symmetric === true) parts.push('symmetric');
  if (plan.parameters !== undefined) parts.push(`parameters ${plan.parameters.join(' ')}`);
  if (plan.diagonal !== undefined) parts.push(`diagonal ${plan.diagonal}`);
  if (plan.swapped) parts.push('transposed output');
  if (plan.power !== undefined) parts.push(`${plan.power} power`);
  return `pairwise ${parts.join(', ')}`;
}

function strategy(plan: UnnamedCudaPlan): string {
  switch (plan.strategy) {
    case 'tile': {
      const { tileRows, tileColumns, tileK, stages, slicesK } = plan.tile;
      const split = plan.splitK === 1 ? '' : ` split ${plan.splitK}`;
      const threads = String(blockThreads(plan.tile));
      const slices = slicesK === 1 ? '' : `, ${slicesK} slices of k`;
      return `tile ${tileRows}x${tileColumns}x${tileK} (${threads} threads, ${stages} stages${slices})${split}`;
    }
    case 'dot': {
      const { lanes, warps, rows, columns } = plan.dot;
      return `dot ${rows}x${columns} over ${lanes * warps} lanes`;
    }
    case 'products': {
      const { chunk, chunks, closeness } = plan.products;
      return `products on tensor cores (${chunks} chunks of ${chunk}, pairs nearer than ${closeness.toFixed(2)} of their norms by differences)`;
    }
    case 'outer': {
      const { k, threadsX, threadsY, vector } = plan.outerProduct;
      return `outer k=${k} (${threadsX}x${threadsY} threads, ${vector} a store)`;
    }
  }
}
