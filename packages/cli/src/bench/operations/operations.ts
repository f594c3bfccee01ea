import type { Cell, OperationName } from '../cells.js';
import { cdistOperation } from './cdist.js';
import { cdistGradOperation } from './cdist-grad.js';
import {
  gaussianL2Operation,
  laplaceL1Operation,
  laplaceL2Operation,
  pNormOperation,
} from './kernels.js';
import type { Operation } from './operation.js';

/** Every operation of the bench by its name. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  cdist: cdistOperation,
  pNorm: pNormOperation,
  laplaceL1: laplaceL1Operation,
  laplaceL2: laplaceL2Operation,
  gaussianL2: gaussianL2Operation,
  cdistGrad: cdistGradOperation,
};

export function operationOf(cell: Cell): Operation {
  return OPERATIONS[cell.operation];
}
