/** Text, how tightly its outermost operator binds, and how deeply brackets are nested in it. */
export interface Printed {
  readonly text: string;
  readonly level: number;
  readonly depth: number;
}

export const COMPARE = 0;
export const DOT = 1;
export const SUM = 2;
export const PRODUCT = 3;
export const SIGN = 4;
export const POWER = 5;
export const ATOM = 6;

/** Text without brackets. */
export const at = (level: number, text: string): Printed => ({ text, level, depth: 0 });

/** The text, in brackets if it binds less tightly than `least`. */
export const wrap = (inner: Printed, least: number): string =>
  inner.level >= least ? inner.text : `(${inner.text})`;

/** As {@link wrap}; a sign right after an operator is legal but hard to read and gets brackets. */
export const right = (inner: Printed, least: number): string =>
  inner.level === SIGN ? `(${inner.text})` : wrap(inner, least);

/** `a symbol b`, grouped to the left; comparisons are not grouped at all. */
export function infix(symbol: string, level: number, a: Printed, b: Printed): Printed {
  const text = `${wrap(a, level === COMPARE ? DOT : level)} ${symbol} ${right(b, level + 1)}`;
  return { text, level, depth: Math.max(a.level === level ? a.depth : a.depth + 1, b.depth + 1) };
}

/** `name(a, b)`; lists of integers stand in square brackets. */
export function call(
  name: string,
  args: readonly (Printed | number | readonly number[])[],
): Printed {
  const texts = args.map((arg) => {
    if (typeof arg === 'number') return numberText(arg);
    return 'text' in arg ? arg.text : `[${arg.join(', ')}]`;
  });
  const depths = args.map((arg) => (typeof arg === 'object' && 'text' in arg ? arg.depth : 0));
  return { text: `${name}(${texts.join(', ')})`, level: ATOM, depth: Math.max(0, ...depths) + 1 };
}

/** A number in its shortest exact form. */
export function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  if (Number.isNaN(value)) return 'nan';
  return String(value).replace('Infinity', 'inf');
}

/** A number with the level of its sign. */
export const printLiteral = (value: number): Printed =>
  at(value < 0 || Object.is(value, -0) ? SIGN : ATOM, numberText(value));
