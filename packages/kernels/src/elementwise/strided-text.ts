import { upTo } from '../emit/indent.js';

/** `n0 * n1 * ...` over the first `count` dimensions, `1` for none. */
export function productOf(prefix: string, count: number): string {
  return count === 0
    ? '1'
    : upTo(count)
        .map((i) => `${prefix}${i}`)
        .join(' * ');
}

/**
 * Statements that take the flat index `rest` apart over dimensions `count - 1` to 0 and add each coordinate times its
 * stride to the named offsets. Division is 32 bits wide where the operands allow it: on a GPU the 64-bit one is a long
 * sequence.
 */
export function unravel(
  count: number,
  offsets: readonly { readonly name: string; readonly stride: string }[],
  name: (prefix: string, i: number) => string,
): string {
  return upTo(count)
    .toReversed()
    .map((i) => {
      const adds = offsets.map((o) => `${o.name} += i * ${name(o.stride, i)};`).join(' ');
      if (i === 0) return `    { const i64 i = rest; ${adds} }`;
      const n = name('n', i);
      return `    { const i64 q = quotient(rest, ${n}), i = rest - q * ${n}; rest = q; ${adds} }`;
    })
    .join('\n');
}

/** 64-bit division of non-negative numbers that takes the short way when both fit in 32 bits. */
export const QUOTIENT = `FN i64 quotient(i64 a, i64 b) {
  return (((u64)a | (u64)b) >> 32) == 0 ? (i64)((u32)a / (u32)b) : a / b;
}
`;
