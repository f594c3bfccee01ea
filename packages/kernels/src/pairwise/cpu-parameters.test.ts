import { describe, expect, it } from 'vitest';
import type { CpuPairwisePlan } from './cpu/plan.js';
import { planCpuPairwise } from './cpu/plan.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { cutSmall, LAYOUTS } from '../testing/pairwise-check.test-support.js';
import {
  checkParameters,
  FAMILIES,
  type Family,
  type ParameterCase,
} from '../testing/parameter-check.test-support.js';
import type { PairwiseProblem } from './problem.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const;

const CASES: readonly ParameterCase[] = [
  { m: 13, n: 70, k: 20, batch: 3, memory: 'own', gap: 3, diagonalOffset: -4 },
  { m: 33, n: 9, k: 37, batch: 2, memory: 'none', shared: 'a', diagonalOffset: 2 },
  { m: 5, n: 40, k: 0, batch: 2, memory: 'shared', diagonalOffset: 40 },
  { m: 4, n: 4, k: 4, batch: 0, memory: 'own' },
  { m: 0, n: 4, k: 4, batch: 1 },
];
const SYMMETRIC: readonly ParameterCase[] = [
  { m: 1, n: 1, k: 3, batch: 2, memory: 'own' },
  { m: 37, n: 37, k: 18, batch: 3, memory: 'own', gap: 1 },
  { m: 150, n: 150, k: 5, batch: 1, memory: 'none' },
  { m: 64, n: 64, k: 17, batch: 2, memory: 'shared', shared: 'both' },
  { m: 20, n: 20, k: 0, batch: 1, memory: 'own', diagonalOffset: 3 },
  { m: 0, n: 0, k: 4, batch: 1 },
];

function problemOf(
  family: Family,
  index: number,
  changes: Partial<PairwiseProblem>,
): PairwiseProblem {
  const [layoutA, layoutB, layoutOut] = LAYOUTS[index] ?? ['row', 'row', 'row'];
  return {
    ...family.expressions,
    dtype: 'float32',
    m: 40,
    n: 150,
    k: 64,
    batch: 1,
    layoutA,
    layoutB,
    layoutOut,
    alignedA: false,
    alignedB: false,
    alignedOut: false,
    ...changes,
  };
}

// All layouts meet both dtypes; every family meets both dtypes; both ways of regularising occur.
const covered = LAYOUTS.flatMap((layouts, i) =>
  (['float32', 'float64'] as const).map((dtype, d) => {
    const family = FAMILIES[(i + 2 * d) % FAMILIES.length] as Family;
    const diagonal = ([undefined, 'set', 'add'] as const)[(i + d) % 3];
    return [layouts.join(' '), dtype, family.name, diagonal ?? 'as it is', i, family] as const;
  }),
);

describe('parameters, by value and from memory', () => {
  it.each(covered)('%s, %s, %s, diagonal %s', (_, dtype, __, mode, i, family) => {
    const extra = mode === 'set' || mode === 'add' ? { diagonal: mode } : {};
    const problem = problemOf(family, i, { dtype, ...extra });
    const plan = cutSmall(planCpuPairwise(problem, limits));
    expect(plan.parameters).toEqual(family.expressions.parameters);
    for (const shape of CASES) checkParameters(plan, problem, family, shape, runCpuProgram);
  });
});

describe('symmetric problems', () => {
  it.each(covered.filter((_, c) => (c + (c >> 1)) % 2 === 0))(
    '%s, %s, %s, diagonal %s',
    (_, dtype, __, mode, i, family) => {
      const extra = mode === 'set' || mode === 'add' ? { diagonal: mode } : {};
      const same = { m: 150, layoutB: LAYOUTS[i]?.[0] ?? 'row', symmetric: true };
      const problem = problemOf(family, i, { dtype, ...same, ...extra });
      const plan: CpuPairwisePlan = planCpuPairwise(problem, limits);
      const flat = { ...cutSmall(plan), blockRows: plan.tileRows * 4 };
      const cut = [cutSmall(plan), flat, plan][i % 3] ?? plan;
      for (const shape of SYMMETRIC) checkParameters(cut, problem, family, shape, runCpuProgram);
    },
  );

  it('do about half of the work', () => {
    const problem = problemOf(FAMILIES[0] as Family, 0, { m: 4000, n: 4000, symmetric: true });
    const plan = planCpuPairwise(problem, limits);
    expect(plan.summary).toContain('symmetric');
    const whole = planCpuPairwise({ ...problem, symmetric: false }, limits);
    expect(plan.blockRows * plan.blockColumns).toBeLessThanOrEqual(
      whole.blockRows * whole.blockColumns,
    );
  });
});
