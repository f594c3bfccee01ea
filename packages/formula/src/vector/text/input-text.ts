import type { VariableNode } from '../vector-expr.js';

const NAMES = { i: 'Vi', j: 'Vj', pair: 'Vij', parameter: 'Pm' } as const;

/** An input as text: `Vi(0, 3)`. */
export function inputText({ category, position, dim }: VariableNode): string {
  return `${NAMES[category]}(${position}, ${dim})`;
}
