import { upTo } from '../emit/text.js';

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
 * stride to the named offsets.
 *
 * @param name of an extent or a stride
 * @param integers their type, and the quotient of `rest` by the extent of a dimension
 */
export function unravel(
  count: number,
  offsets: readonly { readonly name: string; readonly stride: string }[],
  name: (prefix: string, i: number) => string,
  integers: { readonly type: string; readonly quotient: (i: number) => string } = {
    type: 'i64',
    quotient: (i) => `quotient(rest, ${name('n', i)})`,
  },
): string {
  const { type, quotient } = integers;
  return upTo(count)
    .toReversed()
    .map((i) => {
      const adds = offsets.map((o) => `${o.name} += i * ${name(o.stride, i)};`).join(' ');
      if (i === 0) return `    { const ${type} i = rest; ${adds} }`;
      return `    { const ${type} q = ${quotient(i)}, i = rest - q * ${name('n', i)}; rest = q; ${adds} }`;
    })
    .join('\n');
}

/** 64-bit division of non-negative numbers that takes the short way when both fit in 32 bits: on a GPU the long one is a long sequence. */
export const QUOTIENT = `FN i64 quotient(i64 a, i64 b) {
  return (((u64)a | (u64)b) >> 32) == 0 ? (i64)((u32)a / (u32)b) : a / b;
}
`;

/** Elements of one task: small enough to balance threads, large enough to hide the hand-over. */
export const CPU_TASK_ELEMENTS = 32768;

/**
 * Statements that walk tasks [begin, end) over `p.n` and run `span` for every run along the last dimension, with `run`
 * its length and each named offset at its first element. Of rows that are at most half a block, a run is as many `lines` of the dimension before as a
 * block holds, whole vectors of elements where these are many. The last dimension's strides must be in scope as `<stride>s`, those of the one
 * before as `<stride>r`.
 */
export function cpuSpans(
  rank: number,
  offsets: readonly { readonly name: string; readonly stride: string }[],
  block: number,
  span: string,
): string {
  const total = upTo(rank)
    .map((i) => `p.n[${i}]`)
    .join(' * ');
  const rows = `p.n[${rank - 2}]`;
  return `  const i64 inner = p.n[${rank - 1}], total = ${total};
  const i64 stop = end * ${CPU_TASK_ELEMENTS} < total ? end * ${CPU_TASK_ELEMENTS} : total;
  for (i64 at = begin * ${CPU_TASK_ELEMENTS}; at < stop;) {
    const i64 row = quotient(at, inner), x0 = at - row * inner;
    const i64 run = inner - x0 < stop - at ? inner - x0 : stop - at;
${
  rank < 2
    ? '    const i64 lines = 1;'
    : `    i64 lines = 1;
    if (x0 == 0 && inner <= ${block / 2}) {
      const i64 below = ${rank === 2 ? `${rows} - row` : `${rows} - (row - quotient(row, ${rows}) * ${rows})`}, whole = (stop - at) / inner;
      lines = ${block} / inner < below ? ${block} / inner : below;
      if (whole < lines) lines = whole > 1 ? whole : 1;
      if (lines > 16) lines -= lines % 16;
    }`
}
    ${rank > 1 ? 'i64 rest = row, ' : 'i64 '}${offsets.map((o) => `${o.name} = x0 * ${o.stride}s`).join(', ')};
${unravel(rank - 1, offsets, (prefix, i) => `p.${prefix}[${i}]`)}
    {
      ${span}
    }
    at += run * lines;
  }`;
}
