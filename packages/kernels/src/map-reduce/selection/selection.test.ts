import { ops, vi, vj } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import {
  LONG_SELECTIONS,
  LONG_WITH_VALUES,
  NEAR,
  OFFSET,
  RANGES,
  SELECTIONS,
} from './selection-cases.test-support.js';
import { checkRoom, checkSelection } from './selection-check.test-support.js';
import { planSelection } from './plan-selection.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);

describe('selections on the CPU', () => {
  test.each(LONG_SELECTIONS)('in tiles: %s', (_, problem) => {
    for (const [n, dtype] of (['float32', 'float64'] as const).entries()) {
      const sizes =
        n === 0 ? { rowsI: 37, rowsJ: 301, batch: 2 } : { rowsI: 3, rowsJ: 5, batch: 1 };
      checkSelection({ ...problem, ...sizes, dtype }, limits, runCpuProgram);
    }
  });

  test.each(SELECTIONS)('%s', (_, problem) => {
    for (const dtype of ['float32', 'float64'] as const) {
      for (const sizes of [
        { rowsI: 37, rowsJ: 301, batch: 2 },
        { rowsI: 3, rowsJ: 5, batch: 1 },
        { rowsI: 2, rowsJ: 0, batch: 1 },
      ]) {
        checkSelection({ ...problem, ...sizes, dtype }, limits, runCpuProgram);
      }
    }
  });

  test('nothing is written beyond the room of a row', () => {
    checkRoom(limits, runCpuProgram);
  });

  test('within ranges alone', () => {
    const sizes = { rowsI: 30, rowsJ: 40, batch: 2, dtype: 'float32', ranges: true } as const;
    for (const selected of [{ mask: NEAR, values: OFFSET }, LONG_WITH_VALUES]) {
      checkSelection({ ...selected, ...sizes }, limits, runCpuProgram, RANGES);
    }
  });

  test('a mask of several numbers is refused', () => {
    const sizes = { dtype: 'float32', rowsI: 3, rowsJ: 3, batch: 1 } as const;
    const mask = ops.lessThan(vi(0, 2), vj(1, 2));
    expect(() => planSelection({ mask, ...sizes }, limits)).toThrow(/mask has dim 2/);
  });

  test('more than 64 values are refused', () => {
    const sizes = { dtype: 'float32', rowsI: 3, rowsJ: 3, batch: 1 } as const;
    const one = ops.lessThan(vi(0, 1), vj(1, 1));
    expect(() => planSelection({ mask: one, values: vj(2, 65), ...sizes }, limits)).toThrow(
      /writes 65 numbers .* Select without values/,
    );
  });
});
