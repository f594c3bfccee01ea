import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test.helper.js';
import { H200, pairwiseProblem } from '../../testing/h200.test.helper.js';
import {
  checkParameters,
  FAMILIES,
  type Family,
  type ParameterCase,
  type Runner,
} from '../../testing/parameter-check.test.helper.js';
import { LAYOUTS } from '../../testing/pairwise-check.test.helper.js';
import type { DotConfig, TileConfig, TilePlan, DotPlan, OuterPlan } from '../plan-types.js';
import type { PairwiseProblem } from '../problem.js';
import { planCudaPairwise } from './plan-cuda.js';
import { tileConfigs } from './tile-configs.js';

/** Runs the steps that have a block to run, as a device does. */
const run: Runner = (program, launch) => {
  const steps = program.steps.filter(
    ({ kernel }) => kernel.dialect !== 'cuda' || !kernel.geometry(launch.scalars).grid.includes(0),
  );
  runCudaProgram({ ...program, steps }, { ...launch, options: { blocks: 'shuffled' } });
};

type Strategy = TilePlan | DotPlan | OuterPlan;

/** The problem of a family, with a layout, and the plan that a change of sizes leads to. */
function planned(
  family: Family,
  index: number,
  changes: Partial<PairwiseProblem>,
): { problem: PairwiseProblem; plan: Strategy } {
  const [layoutA, layoutB, layoutOut] = LAYOUTS[index % LAYOUTS.length] ?? ['row', 'row', 'row'];
  const problem = pairwiseProblem({
    ...{ ...family.expressions, layoutA, layoutB, layoutOut },
    ...{ alignedA: false, alignedB: false, alignedOut: false },
    ...changes,
  });
  return { problem, plan: planCudaPairwise(problem, H200) };
}

const dot = (rows: number, columns: number, warps: number, lanes = 32): DotConfig => ({
  ...{ lanes, warps, rows, columns, vector: 1, threads: 256 },
});
const small = (dtype: 'float32' | 'float64'): readonly TileConfig[] =>
  dtype === 'float32' ? tileConfigs(dtype, 'light').slice(1) : tileConfigs(dtype, 'light');

/** The plan forced to a strategy: every one is right for every size. */
function forced(plan: Strategy, strategy: string, tile: TileConfig | undefined): Strategy {
  const { kind, dtype, inner, outer, reduce, swapped, summary } = plan;
  const { rowsLayout, columnsLayout, alignedRows, alignedColumns, alignedOut } = plan;
  const { parameters, symmetric, diagonal, power } = plan;
  const base = {
    ...{ kind, dtype, inner, outer, reduce, swapped, summary: `${strategy} of ${summary}` },
    ...{ rowsLayout, columnsLayout, alignedRows, alignedColumns, alignedOut },
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
const covered = FAMILIES.flatMap((family, f) =>
  (['float32', 'float64'] as const).flatMap((dtype, d) =>
    [0, 1].slice((f + d) % 2).map((i) => {
      const index = 4 * f + 2 * d + i;
      const strategy = STRATEGIES[(f + 3 * d + i) % STRATEGIES.length] ?? 'tile';
      const tiles = small(dtype);
      const tile = tiles[index % tiles.length];
      return [strategy, dtype, family.name, family, MODES[index % 3], index, tile] as const;
    }),
  ),
);
const extra = (mode: 'set' | 'add' | undefined): Partial<PairwiseProblem> =>
  mode === undefined ? {} : { diagonal: mode };

describe('parameters by value and from memory, with a diagonal', () => {
  test.each(covered)('%s, %s, %s', (strategy, dtype, _, family, mode, index, tile) => {
    const { problem, plan } = planned(family, index * 3, { dtype, ...extra(mode) });
    const changed = forced(plan, strategy, tile);
    for (const shape of CASES) checkParameters(changed, problem, family, shape, run);
  });

  test.each(FAMILIES.map((family, i) => [family.name, family, i] as const))(
    'short sums: %s',
    (_, family, i) => {
      for (const dtype of ['float32', 'float64'] as const) {
        const changes = { dtype, m: 40, n: 60, k: 3, batch: 2, ...extra(MODES[i % 3]) };
        const { problem, plan } = planned(family, i, changes);
        expect(plan.strategy).toBe('outer');
        const shape = { m: 30, n: 70, k: 3, batch: 2, memory: 'own', gap: 1 } as const;
        checkParameters(plan, problem, family, shape, run);
      }
    },
  );
});

describe('symmetric problems', () => {
  test.each(covered)('%s, %s, %s', (strategy, dtype, _, family, mode, index, tile) => {
    const same = LAYOUTS[index % 8]?.[0] ?? 'row';
    const changes = { dtype, layoutB: same, symmetric: true, ...extra(mode) };
    const { problem, plan } = planned(family, index, changes);
    const changed = forced(plan, strategy, tile);
    for (const shape of symmetricCases(strategy)) {
      checkParameters(changed, problem, family, shape, run);
    }
  });

  test.each(FAMILIES.map((family, i) => [family.name, family, i] as const))(
    'short sums: %s',
    (_, family, i) => {
      for (const dtype of ['float32', 'float64'] as const) {
        const same = LAYOUTS[i]?.[0] ?? 'row';
        const changes = { dtype, m: 60, n: 60, k: 3, layoutB: same, symmetric: true };
        const { problem, plan } = planned(family, i, changes);
        expect(plan.strategy).toBe('outer');
        const shape = { m: 70, n: 70, k: 3, batch: 2, memory: 'own', gap: 1 } as const;
        checkParameters(plan, problem, family, shape, run);
      }
    },
  );
});

describe('aligned operands and outputs', () => {
  const aligned = { alignedA: true, alignedB: true, alignedOut: true };
  const gaussian = FAMILIES[0] as Family;
  test.each(
    (['float32', 'float64'] as const).flatMap((dtype) =>
      [true, false].map((symmetric) => [dtype, symmetric] as const),
    ),
  )('the largest tile and short sums, %s, symmetric %s', (dtype, symmetric) => {
    for (const layout of ['row', 'column'] as const) {
      const layouts = { layoutA: layout, layoutB: layout, layoutOut: layout };
      const changes = { dtype, ...layouts, ...aligned, symmetric };
      const large = planned(gaussian, 0, changes);
      const [tile] = tileConfigs(dtype, 'light');
      const shape = { m: 150, n: 150, k: 38, batch: 1, memory: 'own', gap: 2 } as const;
      const plan = forced(large.plan, 'tile', tile);
      checkParameters(plan, large.problem, gaussian, shape, run);
      const short = planned(gaussian, 0, { ...changes, k: 2 });
      expect(short.plan.strategy).toBe('outer');
      checkParameters(short.plan, short.problem, gaussian, { ...shape, k: 2 }, run);
    }
  });
});
