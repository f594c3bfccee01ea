import type { MatrixOperand } from '../operand.js';

/** Matrices of a call that it always has. */
export function needed<K extends string>(
  args: { readonly [N in K]: MatrixOperand | undefined },
  ...names: readonly [K, ...K[]]
): MatrixOperand[] & Record<0 | 1 | 2 | 3, MatrixOperand> {
  const operands = names.map((name) => {
    const operand = args[name];
    if (operand === undefined) throw new TypeError(`a routine without its matrix ${name}`);
    return operand;
  });
  return operands as MatrixOperand[] & Record<0 | 1 | 2 | 3, MatrixOperand>;
}
