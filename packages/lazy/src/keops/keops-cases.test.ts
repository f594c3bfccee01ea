import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCases } from './case.test-support.js';
import { complexCases } from './complex-cases.test-support.js';
import { contractionCases } from './contraction-cases.test-support.js';
import { functionCases } from './function-cases.test-support.js';
import { vectorCases } from './vector-cases.test-support.js';

describe('KeOps cases on the CPU', () => {
  const cpu = (): ReturnType<typeof device> => device('cpu');
  describeCases('long vectors', cpu, vectorCases);
  describeCases('contractions', cpu, contractionCases);
  describeCases('functions', cpu, functionCases);
  describeCases('complex numbers', cpu, complexCases);
});
