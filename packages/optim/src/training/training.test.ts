import { device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { schedules } from '../index.js';
import { checkpointSuite } from './checkpoint-suite.test-support.js';
import { statesSuite } from './states-suite.test-support.js';
import { trainingSuite } from './training-suite.test-support.js';

for (const suite of [trainingSuite, statesSuite, checkpointSuite]) {
  suite('the CPU', () => device('cpu'));
}

describe('schedules', () => {
  const at = (schedule: (step: number) => number, ...steps: number[]): number[] =>
    steps.map(schedule);
  const close = (found: readonly number[], wanted: readonly number[]) => {
    for (const [k, x] of wanted.entries()) expect(found[k]).toBeCloseTo(x, 12);
  };

  it('are what their formulas say', () => {
    close(at(schedules.constant(0.5), 1, 99), [0.5, 0.5]);
    close(at(schedules.steps({ initial: 1, every: 3 }), 1, 3, 4, 6, 7), [1, 1, 0.1, 0.1, 0.01]);
    close(at(schedules.exponential({ initial: 2, factor: 0.5 }), 1, 2, 4), [2, 1, 0.25]);
    const cosine = schedules.cosine({ peak: 3, steps: 4, end: 1 });
    close(at(cosine, 1, 3, 5, 6, 100), [3, 2, 1, 1, 1]);
    close(at(cosine, 2), [1 + (1 + Math.SQRT1_2)]);
    const warm = schedules.linearWarmUp({ steps: 4, then: cosine, from: 1 });
    close(at(warm, 1, 2, 3, 4, 6, 8), [1.5, 2, 2.5, 3, 2, 1]);
    close(at(schedules.linearWarmUp({ steps: 2, then: 0.4 }), 1, 2, 3), [0.2, 0.4, 0.4]);
  });

  it('refuse what is no rate and no count', () => {
    const code = 'INVALID_ARGUMENT';
    for (const make of [
      () => schedules.constant(NaN),
      () => schedules.steps({ initial: 1, every: 0 }),
      () => schedules.cosine({ peak: -1, steps: 3 }),
      () => schedules.linearWarmUp({ steps: 1.5, then: 1 }),
      () => schedules.exponential({ initial: 1, factor: Infinity }),
      () => schedules.exponential({ initial: 1, gamma: 1 } as never),
    ]) {
      expect(make).toThrow(expect.objectContaining({ code }));
    }
  });
});
