import type { MathOp } from '@mercer/formula';

/** A function with its fixed numbers, as emitted texts ask for it: `math besselJ 2`. */
export type MathFunction = `math ${string}`;

/** The function and numbers of a `MathFunction`. */
export interface MathFunctionParts {
  readonly fn: MathOp;
  readonly attributes: readonly number[];
}

/** How emitted texts ask for a function. */
export function mathFunction({ fn, attributes }: MathFunctionParts): MathFunction {
  return `math ${[fn, ...attributes].join(' ')}`;
}

/** True for what {@link mathFunction} made. */
export function isMathFunction(helper: string): helper is MathFunction {
  return helper.startsWith('math ');
}

/** What {@link mathFunction} was made from. */
export function partsOf(key: MathFunction): MathFunctionParts {
  const [, fn = '', ...attributes] = key.split(' ');
  return { fn: fn as MathOp, attributes: attributes.map(Number) };
}

/** The name of the function in the text of a kernel: letters, digits and underscores. */
export function mathName({ fn, attributes }: MathFunctionParts): string {
  const numbers = attributes.map((value) =>
    String(value).replaceAll('-', 'm').replaceAll('.', 'p').replaceAll('+', ''),
  );
  return ['math', fn, ...numbers].join('_');
}
