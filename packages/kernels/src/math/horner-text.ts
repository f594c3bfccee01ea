import { cpuLiteral } from '../emit/cpu-literal.js';

/** A finite float64 literal, the same in host C++ and CUDA C++. */
export const doubleLiteral = (value: number): string => cpuLiteral(value, 'float64');

/** Horner's scheme as nested products and sums, which both compilers fuse where they can. */
export function hornerText(coefficients: readonly number[], x: string): string {
  return coefficients.map(doubleLiteral).reduceRight((high, low) => `(${high} * ${x} + ${low})`);
}
