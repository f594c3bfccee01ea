import { CONTRACTION_CASES } from './contraction-cases.test-support.js';
import { FUNCTION_CASES } from './function-cases.test-support.js';
import type { OperationCase } from './operation-case.test-support.js';
import { STRUCTURE_CASES } from './structure-cases.test-support.js';

/** Every operation that text may name, at least once. */
export const OPERATION_CASES: readonly OperationCase[] = [
  ...FUNCTION_CASES,
  ...STRUCTURE_CASES,
  ...CONTRACTION_CASES,
];
