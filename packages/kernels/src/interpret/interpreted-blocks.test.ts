import { ops, pm, reduction, vi, vj, type VectorExpr } from '@mercer/formula';
import { describe, it } from 'vitest';
import { planCpuCdistGrad } from '../cdist-grad/cpu/plan.js';
import {
  checkCdistGrad,
  gradProblem,
  type GradShape,
} from '../cdist-grad/cdist-grad-check.test-support.js';
import { gaussian, KIND_CASES } from '../map-reduce/map-reduce-cases.test-support.js';
import { checkMapReduce, wholeNumber } from '../map-reduce/map-reduce-check.test-support.js';
import { planCpuPairwise } from '../pairwise/cpu/plan.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runInterpretedProgram } from '../testing/cpu-program.test-support.js';
import { LAYOUTS } from '../testing/pairwise-check.test-support.js';
import {
  checkParameters,
  FAMILIES,
  type Family,
  type ParameterCase,
} from '../testing/parameter-check.test-support.js';

// What the suites of the families, run with MERCER_CPU=interpreted, are too small for: more than one tile (512 values of
// float32, 256 of float64), block of rows and block of k.
const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = {
  kind: 'cpu',
  level,
  cores: 2,
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
  interpreted: true,
} as const;

const SHAPES: readonly ParameterCase[] = [
  { m: 3, n: 1030, k: 5, batch: 1 },
  { m: 1030, n: 3, k: 5, batch: 1, gap: 1 },
  { m: 70, n: 20, k: 6, batch: 2, memory: 'own' },
  { m: 9, n: 11, k: 300, batch: 1 },
];

describe.each(['float32', 'float64'] as const)('more than one tile, %s', (dtype) => {
  it.each(LAYOUTS.map((layouts, i) => [layouts.join(' '), i] as const))('pairwise, %s', (_, i) => {
    const [layoutA, layoutB, layoutOut] = LAYOUTS[i] ?? ['row', 'row', 'row'];
    const family = FAMILIES[i % FAMILIES.length] as Family;
    const problem = {
      ...family.expressions,
      dtype,
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
    };
    const plan = planCpuPairwise(problem, limits);
    for (const shape of SHAPES) {
      checkParameters(plan, problem, family, shape, runInterpretedProgram);
    }
  });

  it.each(['row', 'column'] as const)('symmetric, %s-major', (layout) => {
    const family = FAMILIES[0] as Family;
    const problem = {
      ...family.expressions,
      dtype,
      m: 530,
      n: 530,
      k: 3,
      batch: 1,
      symmetric: true,
      layoutA: layout,
      layoutB: layout,
      layoutOut: layout,
      alignedA: false,
      alignedB: false,
      alignedOut: false,
    };
    const plan = planCpuPairwise(problem, limits);
    const shape = { m: 530, n: 530, k: 3, batch: 1, gap: 1 };
    checkParameters(plan, problem, family, shape, runInterpretedProgram);
  });

  it.each(KIND_CASES.filter((_, i) => i % 2 === 0))('map-reduce, %s', (_, one) => {
    checkMapReduce({ ...one, rowsI: 600, rowsJ: 20, dtype }, limits, runInterpretedProgram);
    checkMapReduce({ ...one, rowsI: 3, rowsJ: 700, dtype }, limits, runInterpretedProgram);
  });

  it('map-reduce, many terms over either axis', () => {
    for (const axis of [0, 1] as const) {
      const one = { reduction: reduction('Sum', gaussian(3), { axis }), dtype, units: 20 };
      checkMapReduce({ ...one, rowsI: 1100, rowsJ: 40 }, limits, runInterpretedProgram);
      checkMapReduce({ ...one, rowsI: 2, rowsJ: 20_000 }, limits, runInterpretedProgram);
    }
  });

  it.each([1, 1.3, 2])('cdist-grad, p = %d', (p) => {
    const shapes: readonly GradShape[] = [
      { m: 530, n: 2, o: 18, k: 3 },
      { m: 20, n: 3, o: 35, k: 90, batch: 2 },
    ];
    for (const shape of shapes) {
      const plan = planCpuCdistGrad(gradProblem(dtype, p, shape), limits);
      checkCdistGrad(plan, shape, p, { run: runInterpretedProgram });
    }
  });
});

describe.each(runnableLevels())('sums of many components for %s', (own) => {
  const [x, y] = [vi(0, 18), vj(1, 18)];
  const formulas: readonly (readonly [string, VectorExpr])[] = [
    ['squares', ops.sqDist(x, y)],
    ['sizes', ops.sum(ops.abs(ops.sub(x, y)))],
    ['products', ops.dot(x, y)],
    ['of the same row', ops.mul(ops.dot(x, x), ops.dot(y, pm(2, 18)))],
  ];

  it.each(formulas)('%s, several reduced rows at once and one by one', (_, formula) => {
    for (const [dtype, axis] of [
      ['float32', 1],
      ['float64', 0],
    ] as const) {
      // whole numbers, on which nothing is rounded
      const one = { reduction: reduction('Sum', formula, { axis }), fill: wholeNumber, units: 0 };
      const sizes = axis === 1 ? { rowsI: 70, rowsJ: 137 } : { rowsI: 137, rowsJ: 70 };
      checkMapReduce({ ...one, ...sizes, dtype }, { ...limits, level: own }, (program, launch) => {
        runInterpretedProgram(program, launch, own);
      });
    }
  });
});
