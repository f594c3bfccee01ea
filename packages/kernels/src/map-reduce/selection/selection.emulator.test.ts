import { describe, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import {
  LONG_SELECTIONS,
  LONG_WITH_VALUES,
  NEAR,
  OFFSET,
  RANGES,
  SELECTIONS,
} from './selection-cases.test-support.js';
import { checkRoom, checkSelection } from './selection-check.test-support.js';

describe('selections on a GPU', () => {
  test.each(LONG_SELECTIONS.map((one, n) => [...one, n] as const))(
    'in tiles: %s',
    (_, problem, n) => {
      const sizes = { rowsI: 19, rowsJ: n % 2 === 0 ? 300 : 41, batch: 2 };
      const dtype = n % 2 === 0 ? 'float32' : 'float64';
      checkSelection({ ...problem, ...sizes, dtype }, H200, runCudaProgram);
    },
  );

  test.each(SELECTIONS.map((one, n) => [...one, n] as const))('%s', (_, problem, n) => {
    const sizes = { rowsI: 150, rowsJ: 41, batch: 2 };
    const dtype = n % 2 === 0 ? 'float32' : 'float64';
    checkSelection({ ...problem, ...sizes, dtype }, H200, runCudaProgram);
  });

  test('nothing is written beyond the room of a row', () => {
    checkRoom(H200, runCudaProgram);
  });

  test('within ranges alone', () => {
    const sizes = { rowsI: 30, rowsJ: 40, batch: 2, dtype: 'float64', ranges: true } as const;
    for (const selected of [{ mask: NEAR, values: OFFSET }, LONG_WITH_VALUES]) {
      checkSelection({ ...selected, ...sizes }, H200, runCudaProgram, RANGES);
    }
  });
});
