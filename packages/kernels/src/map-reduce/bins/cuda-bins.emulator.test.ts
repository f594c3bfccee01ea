import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { planMapReduce } from '../plan.js';
import { binsCases } from './bins-cases.test-support.js';

/** So small that a few threads add as fast as it compares. */
const SMALL = { ...H200, multiprocessors: 2 } as const;

describe('sums with components in memory, on a GPU', () => {
  test.each(binsCases(512))('%s', (_, one) => {
    const { rowsI, rowsJ, batch, reduction, dtype } = { batch: 1, ...one, ...one.planned };
    const { bins } = planMapReduce({ rowsI, rowsJ, batch, reduction, dtype }, SMALL);
    expect(bins).toBe(512);
    checkMapReduce(one, SMALL, runCudaProgram);
    expect.assertions(2);
  });
});
