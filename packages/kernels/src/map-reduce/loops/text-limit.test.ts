import { ops, reduction, vi, vj, type VectorExpr } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { isBeyondCompiler } from '../../plan-error.js';
import { emitMapReduce, planMapReduce, type MapReduceProblem } from '../index.js';
import { PAIR_TILE_LIMITS } from '../choose-schedule.js';

const CPU = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 4,
  l1Bytes: 32768,
  l2Bytes: 1048576,
} as const;
const GPU = {
  ...({ kind: 'cuda', arch: 'sm_90a', computeCapability: [9, 0] } as const),
  multiprocessors: 132,
  maxThreadsPerBlock: 1024,
  sharedMemPerBlockOptin: 232448,
  sharedMemPerMultiprocessor: 233472,
  registersPerMultiprocessor: 65536,
  l2Bytes: 52428800,
};

/** `f = sin(f) + d`: two values for each step. */
function chain(steps: number): VectorExpr {
  const d = ops.sub(vi(0, 1), vj(1, 1));
  let all = d;
  for (let k = 0; k < steps; k++) all = ops.add(ops.sin(all), d);
  return all;
}

const problem = (formula: VectorExpr): MapReduceProblem => ({
  ...({ reduction: reduction('Sum', formula, { axis: 1 }), dtype: 'float32' } as const),
  rowsI: 100,
  rowsJ: 100,
  batch: 1,
});

describe.each([CPU, GPU])('the text of a long formula for $kind', (limits) => {
  it('is written up to the limit, however deep the formula is', () => {
    const plan = planMapReduce(problem(chain(PAIR_TILE_LIMITS.values / 2 - 4)), limits);
    const [step] = emitMapReduce(plan).steps;
    expect(step?.kernel.source.length).toBeGreaterThan(10_000);
  });

  it('is refused beyond it before anything is written, with the limit and a way out', () => {
    const plan = (): unknown => planMapReduce(problem(chain(20_000)), limits);
    expect(plan).toThrow(/more than 4096 different values .* pass them as inputs/s);
    try {
      plan();
    } catch (error) {
      expect(isBeyondCompiler(error)).toBe(true);
    }
  });
});

it('the interpreter takes what is beyond the text', () => {
  const plan = planMapReduce(problem(chain(20_000)), { ...CPU, interpreted: true });
  const [step] = emitMapReduce(plan).steps;
  expect(step?.kernel.dialect === 'cpu' && step.kernel.program).toBeTruthy();
});
