import { upTo } from '../emit/indent.js';
import { unravel } from './strided-text.js';

/** Elements of one task: small enough to balance threads, large enough to hide the hand-over. */
export const CPU_TASK_ELEMENTS = 32768;

/**
 * Statements that walk tasks [begin, end) over `p.n` and run `span` for every run along the last dimension, with `run`
 * its length and each named offset at its first element. The last dimension's strides must be in scope as `<stride>s`.
 */
export function cpuSpans(
  rank: number,
  offsets: readonly { readonly name: string; readonly stride: string }[],
  span: string,
): string {
  const last = String(rank - 1);
  const total = upTo(rank)
    .map((i) => `p.n[${i}]`)
    .join(' * ');
  const task = String(CPU_TASK_ELEMENTS);
  return `  const i64 inner = p.n[${last}], total = ${total};
  const i64 stop = end * ${task} < total ? end * ${task} : total;
  for (i64 at = begin * ${task}; at < stop;) {
    const i64 row = quotient(at, inner), x0 = at - row * inner;
    const i64 run = inner - x0 < stop - at ? inner - x0 : stop - at;
    ${rank > 1 ? 'i64 rest = row, ' : 'i64 '}${offsets.map((o) => `${o.name} = x0 * ${o.stride}s`).join(', ')};
${unravel(rank - 1, offsets, (prefix, i) => `p.${prefix}[${i}]`)}
    {
      ${span}
    }
    at += run;
  }`;
}
