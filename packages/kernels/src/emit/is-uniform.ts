import { postOrder, variables, type Expr } from '@mercer/formula';

/**
 * Whether an expression reads launch scalars and nothing else, and calls no function: what is computed
 * once a launch is written with the C library's functions, which has not all of ours.
 */
export function isUniform(node: Expr, isLaunchScalar: (name: string) => boolean): boolean {
  const names = variables(node);
  return (
    names.length > 0 &&
    names.every(isLaunchScalar) &&
    !postOrder(node).some(({ op }) => op === 'call')
  );
}
