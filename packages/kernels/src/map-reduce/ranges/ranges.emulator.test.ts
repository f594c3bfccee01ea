import { expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { RANGE_CASES, SHORT_SPANS } from './ranges-cases.test-support.js';

/** A grid without blocks cannot be launched: there is no result. */
const run: typeof runCudaProgram = (program, launch) => {
  if ((launch.scalars['taskCount'] ?? 0) > 0) runCudaProgram(program, launch);
};
const MANY = { rowsI: 1_000_000, rowsJ: 1_000_000 };
/** Blocks of a warp, as few rows of a range take them. */
const SHORT = [32, 64, 128] as const;

test.each(RANGE_CASES.map((one, n) => [...one, n] as const))('ranges on a GPU: %s', (_, one, n) => {
  const dtype = n % 3 === 2 ? 'float64' : 'float32';
  for (const planned of [undefined, MANY]) {
    checkMapReduce({ ...one, dtype, ...(planned && { planned }) }, H200, run);
  }
  checkMapReduce({ ...one, dtype, planned: { ...MANY, rangeRows: SHORT[n % 3] } }, H200, run);
  expect.assertions(3);
});

test('short spans are summed together on a GPU', () => {
  checkMapReduce({ ...SHORT_SPANS, dtype: 'float32' }, H200, run);
  checkMapReduce(
    { ...SHORT_SPANS, dtype: 'float32', planned: { ...MANY, rangeRows: 64 } },
    H200,
    run,
  );
});
