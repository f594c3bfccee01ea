import { FormulaError } from '../../formula-error.js';
import { inputsOf } from '../post-order-vector.js';
import type { VariableNode, VectorExpr } from '../vector-expr.js';
import { inputText } from './input-text.js';

/** Refuses two different inputs at one position. Throws `FormulaError` with code `INVALID_ARGUMENT`. */
export function checkInputs(...roots: readonly VectorExpr[]): void {
  let last: VariableNode | undefined;
  for (const one of inputsOf(...roots)) {
    if (last?.position === one.position) {
      throw new FormulaError(
        'INVALID_ARGUMENT',
        `cannot read the formula: ${inputText(last)} and ${inputText(one)} have the same position. ` +
          `One position is one input, of one category and dim: give them different positions.`,
      );
    }
    last = one;
  }
}
