import { describe } from 'vitest';
import { device } from '../index.js';
import { elementwiseSuite } from './elementwise-suite.test-support.js';

describe('elementwise operations on the CPU', () => {
  // the interpreter needs no compiler for another dtype
  const whole =
    process.env['MERCER_TEST_FULL'] === '1' || process.env['MERCER_CPU'] === 'interpreted';
  elementwiseSuite(() => device('cpu'), { whole });
});
