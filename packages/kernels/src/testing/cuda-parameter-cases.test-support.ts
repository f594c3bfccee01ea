import { H200, pairwiseProblem } from './h200.test-support.js';
import { FAMILIES, type Family, type ParameterCase } from './parameter-check.test-support.js';
import { LAYOUTS } from './pairwise-check.test-support.js';
import type { TileConfig } from '../pair-tile/cuda/tile-operand.js';
import type { CudaPairwisePlan, DotConfig } from '../pairwise/plan-types.js';
import type { PairwiseDType } from '../dtype.js';
import type { PairwiseProblem } from '../pairwise/problem.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { planCudaPairwise } from '../pairwise/cuda/plan.js';
import { tileConfigs } from '../pairwise/cuda/tile-configs.js';

/** A plan, and the shapes to run it on. */
export interface CudaParameterCase {
  readonly name: string;
  readonly plan: CudaPairwisePlan;
  readonly problem: PairwiseProblem;
  readonly family: Family;
  readonly shapes: readonly ParameterCase[];
}

/** The problem of a family, with a layout, and the plan that a change of sizes leads to. */
function planned(
  family: Family,
  index: number,
  changes: Partial<PairwiseProblem>,
): { problem: PairwiseProblem; plan: CudaPairwisePlan } {
  const [layoutA, layoutB, layoutOut] = LAYOUTS[index % LAYOUTS.length] ?? ['row', 'row', 'row'];
  const problem = pairwiseProblem({
    ...family.expressions,
    layoutA,
    layoutB,
    layoutOut,
    alignedA: false,
    alignedB: false,
    alignedOut: false,
    ...changes,
  });
  return { problem, plan: planCudaPairwise(problem, H200) };
}

const dot = (rows: number, columns: number, warps: number, lanes = 32): DotConfig => ({
  lanes,
  warps,
  rows,
  columns,
  vector: 1,
});
const small = (dtype: 'float32' | 'float64'): readonly TileConfig[] =>
  dtype === 'float32' ? tileConfigs(dtype, 'light').slice(1) : tileConfigs(dtype, 'light');

/** The plan forced to a strategy: every one is right for every size. */
function forced(
  plan: CudaPairwisePlan,
  strategy: string,
  tile: TileConfig | undefined,
): CudaPairwisePlan {
  const { kind, dtype, inner, outer, reduce, swapped, summary } = plan;
  const { rowsLayout, columnsLayout, alignedRows, alignedColumns, alignedOut } = plan;
  const { parameters, symmetric, diagonal, power } = plan;
  const base = {
    kind,
    dtype,
    inner,
    outer,
    reduce,
    swapped,
    summary: `${strategy} of ${summary}`,
    rowsLayout,
    columnsLayout,
    alignedRows,
    alignedColumns,
    alignedOut,
    ...(parameters === undefined ? {} : { parameters }),
    ...(symmetric === undefined ? {} : { symmetric }),
    ...(diagonal === undefined ? {} : { diagonal }),
    ...(power === undefined ? {} : { power }),
  };
  if (strategy === 'dot 2x2') return { ...base, strategy: 'dot', dot: dot(2, 2, 1, 8) };
  if (strategy === 'dot 1x4') return { ...base, strategy: 'dot', dot: dot(1, 4, 1, 4) };
  if (strategy === 'dot 4x1') return { ...base, strategy: 'dot', dot: dot(4, 1, 8) };
  if (tile === undefined) throw new Error('no tile');
  return { ...base, strategy: 'tile', tile, splitK: strategy === 'split' ? 3 : 1 };
}

const STRATEGIES = ['tile', 'dot 2x2', 'split', 'dot 1x4', 'tile', 'dot 4x1'] as const;

const CASES: readonly ParameterCase[] = [
  { m: 13, n: 70, k: 70, batch: 3, memory: 'own', gap: 3, diagonalOffset: -4 },
  { m: 34, n: 5, k: 37, batch: 2, memory: 'none', shared: 'b', diagonalOffset: 2 },
  { m: 5, n: 20, k: 0, batch: 2, memory: 'shared', diagonalOffset: 20 },
];
const symmetricCases = (strategy: string): readonly ParameterCase[] => {
  const [some, many] = strategy.startsWith('dot') ? [11, 35] : [77, 150];
  return [
    { m: 1, n: 1, k: 9, batch: 2, memory: 'own' },
    { m: some, n: some, k: 11, batch: 2, memory: 'own', gap: 1 },
    { m: many, n: many, k: 5, batch: 1, memory: 'none', diagonalOffset: 7 },
  ];
};

const MODES = [undefined, 'set', 'add'] as const;
const DTYPES = ['float32', 'float64'] as const;
const extra = (index: number): Partial<PairwiseProblem> => {
  const diagonal = MODES[index % 3];
  return diagonal === undefined ? {} : { diagonal };
};

/** Every family by both data types; tiles, shared sums and split sums, layouts and diagonals rotate. */
function longSums(symmetric: boolean): CudaParameterCase[] {
  return FAMILIES.flatMap((family, f) =>
    DTYPES.flatMap((dtype, d) =>
      [(f + d) % 2].map((i) => {
        const index = 4 * f + 2 * d + i;
        const strategy = STRATEGIES[(f + 3 * d) % STRATEGIES.length] ?? 'tile';
        const tiles = small(dtype);
        const layoutB = LAYOUTS[index % 8]?.[0] ?? 'row';
        const { problem, plan } = planned(family, symmetric ? index : index * 3, {
          dtype,
          ...extra(index),
          ...(symmetric ? { layoutB, symmetric } : {}),
        });
        return {
          name: `${symmetric ? 'symmetric ' : ''}${strategy}, ${dtype}, ${family.name}`,
          plan: forced(plan, strategy, tiles[index % tiles.length]),
          problem,
          family,
          shapes: symmetric ? symmetricCases(strategy) : CASES,
        };
      }),
    ),
  );
}

function shortSums(symmetric: boolean): CudaParameterCase[] {
  return FAMILIES.flatMap((family, i) =>
    DTYPES.slice(i % 2, (i % 2) + 1).map((dtype) => {
      const layoutB = LAYOUTS[i]?.[0] ?? 'row';
      const sizes = symmetric
        ? { m: 60, n: 60, k: 3, layoutB, symmetric }
        : { m: 40, n: 60, k: 3, batch: 2 };
      const { problem, plan } = planned(family, i, { dtype, ...sizes, ...extra(i) });
      const shape = {
        m: symmetric ? 70 : 30,
        n: 70,
        k: 3,
        batch: 2,
        memory: 'own',
        gap: 1,
      } as const;
      return {
        name: `${symmetric ? 'symmetric ' : ''}short sums, ${dtype}, ${family.name}`,
        problem,
        plan,
        family,
        shapes: [shape],
      };
    }),
  );
}

/** The largest tile, and short sums, where everything is aligned. */
function alignedSums(dtype: PairwiseDType, symmetric: boolean): CudaParameterCase[] {
  const [family] = FAMILIES;
  if (family === undefined) return [];
  const aligned = { alignedA: true, alignedB: true, alignedOut: true };
  return (['row', 'column'] as const).flatMap((layout) => {
    const layouts = { layoutA: layout, layoutB: layout, layoutOut: layout };
    return (layout === 'row' ? [38, 2] : [38]).map((k) => {
      const { problem, plan } = planned(family, 0, { dtype, ...layouts, ...aligned, symmetric, k });
      const [tile] = tileConfigs(dtype, 'light');
      const shape = { m: 134, n: 134, k, batch: 1, memory: 'own', gap: 2 } as const;
      return {
        name: `${symmetric ? 'symmetric ' : ''}aligned, ${dtype}, ${layout}, k = ${k}`,
        plan: k === 2 ? plan : forced(plan, 'tile', tile),
        problem,
        family,
        shapes: [shape],
      };
    });
  });
}

/** Exponents in memory for which the arithmetic differs, in one launch of every strategy. */
function exponents(): CudaParameterCase[] {
  const family: Family = {
    name: 'every way of raising to a power',
    expressions: { ...normExpressions('runtime'), parameters: ['p'] },
    values: { p: [0.5, 1, 1.3, 2, 2.7, 7.5] },
  };
  const own = { batch: 6, memory: 'own', gap: 1 } as const;
  const sizes = [
    [{ k: 1024 }, { m: 70, n: 66, k: 35 }],
    [
      { k: 1024, symmetric: true },
      { m: 70, n: 70, k: 20 },
    ],
    [
      { m: 200, n: 200, k: 4096 },
      { m: 20, n: 33, k: 150 },
    ],
    [
      { m: 32, n: 32, k: 4096 },
      { m: 5, n: 4, k: 300 },
    ],
    [
      { m: 1, k: 1024 },
      { m: 1, n: 30, k: 70 },
    ],
    [{ k: 3 }, { m: 40, n: 70, k: 3 }],
    [
      { k: 3, symmetric: true },
      { m: 70, n: 70, k: 3 },
    ],
  ] as const;
  return sizes.map(([changes, shape], i) => {
    const { problem, plan } = planned(family, i === 0 ? 7 : 0, changes);
    return {
      name: `exponents, ${JSON.stringify(changes)}`,
      problem,
      plan,
      family,
      shapes: [{ ...own, ...shape }],
    };
  });
}

/** Plans of every strategy with parameters, symmetry and diagonals. */
export function cudaParameterCases(): CudaParameterCase[] {
  return [
    ...[false, true].flatMap((symmetric) => [...longSums(symmetric), ...shortSums(symmetric)]),
    ...DTYPES.flatMap((dtype) => [false, true].flatMap((s) => alignedSums(dtype, s))),
    ...exponents(),
  ];
}
