import { expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { cudaParameterCases } from '../../testing/cuda-parameter-cases.test-support.js';
import { checkParameters, type Runner } from '../../testing/parameter-check.test-support.js';

/** Runs the steps that have a block to run, as a device does. */
const run: Runner = (program, launch) => {
  const steps = program.steps.filter(
    ({ kernel }) => kernel.dialect !== 'cuda' || !kernel.geometry(launch.scalars).grid.includes(0),
  );
  runCudaProgram({ ...program, steps }, { ...launch, options: { blocks: 'shuffled' } });
};

const cases = cudaParameterCases().map((one) => [one.name, one] as const);

test('the cases are of every strategy', () => {
  const strategies = new Set(cases.map(([, { plan }]) => plan.strategy));
  expect([...strategies].sort()).toEqual(['dot', 'outer', 'tile']);
});

test.each(cases)('%s', (_, { plan, problem, family, shapes }) => {
  for (const shape of shapes) checkParameters(plan, problem, family, shape, run);
});
