import { CONTRACTION_CASES } from './contraction-cases.test.helper.js';
import { FUNCTION_CASES } from './function-cases.test.helper.js';
import type { OperationCase } from './operation-case.test.helper.js';
import { STRUCTURE_CASES } from './structure-cases.test.helper.js';

/** Every operation that text may name, at least once. */
export const OPERATION_CASES: readonly OperationCase[] = [
  ...FUNCTION_CASES,
  ...STRUCTURE_CASES,
  ...CONTRACTION_CASES,
];
