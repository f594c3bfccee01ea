import { indent, lines, upTo } from '../../emit/text.js';
import type { Reducer, Base2Dialect, ReducerParts } from './reducer.js';

/** Above a mean of 2^5 of what eight rows count, the power of two that sums are taken by is chosen anew. */
const MOST_A_ROW = 32;

/**
 * LogSumExp and SumSoftMaxWeight, several rows at a time: sums of 2^(F log2(e) - top) G, where `top` is a whole number near the
 * largest exponent so far. A sum is then changed to another `top` without an error, so that `top` need not be the largest: several
 * rows are added with a multiply-add and a power of two each, and only where their sum shows that `top` is far too low are they
 * added one by one. A row with F = -inf is passed over before anything is subtracted; F = +inf counts 1; a NaN stays. F beyond
 * 2.3e38 in magnitude counts as infinite.
 */
export function base2ExponentialReducer(
  { kind, weightDim, dialect: { lit, log, abs } }: ReducerParts,
  { fma, exp2, round, either, always }: Base2Dialect,
): Reducer {
  const [zero, one, infinite, none] = [lit(0), lit(1), lit(Infinity), lit(-Infinity)];
  const log2e = lit(Math.LOG2E);
  const isSoftMax = kind === 'SumSoftMaxWeight';
  const sums = upTo(weightDim + (isSoftMax ? 1 : 0)).map((c) => `sum${c}`);
  const last = sums.at(-1) ?? '';
  // what counts nothing may be infinite
  const times = (share: string, x: string): string =>
    `(${share} == ${zero} ? ${zero} : ${x} * ${share})`;
  const scaled = (f: string, top: string): string => exp2(fma(f, log2e, `-${top}`));
  return {
    accumulators: [
      { name: 'top', type: 'V', empty: none },
      ...sums.map((name) => ({ name, type: 'V', empty: zero }) as const),
    ],
    arity: 1 + sums.length,
    functions: lines(
      'INLINE State beside(const State& total) {',
      '  State s = empty();',
      '  s.top = total.top;',
      '  return s;',
      '}',
    ),
    beside: (total) => `beside(${total})`,
    add: lines(
      `const V exponent = f0 * ${log2e};`,
      `const V top = ${either('exponent <= s.top', 's.top != s.top')} ? s.top : ${round('exponent')};`,
      `const V keep = s.top == top ? ${one} : ${exp2('s.top - top')};`,
      `const V share = ${abs('top')} == ${infinite} ? (exponent == top ? ${one} : ${zero}) : ${scaled('f0', 'top')};`,
      ...sums.map(
        (sum, c) =>
          `s.${sum} = f0 == ${none} ? s.${sum} : ${times('keep', `s.${sum}`)} + ${times('share', `f${c + 1}`)};`,
      ),
      `s.top = f0 == ${none} ? s.top : top;`,
    ),
    merge: lines(
      `const V top = ${either('t.top > s.top', 't.top != t.top')} ? t.top : s.top;`,
      ...['s', 't'].map(
        (state) =>
          `const V of_${state} = ${state}.top == top ? ${one} : ${exp2(`${state}.top - top`)};`,
      ),
      ...sums.map(
        (sum) => `s.${sum} = ${times('of_s', `s.${sum}`)} + ${times('of_t', `t.${sum}`)};`,
      ),
      's.top = top;',
    ),
    value: isSoftMax
      ? sums.slice(0, -1).map((sum) => `s.${sum} / s.${last}`)
      : sums.map(
          (sum) => `(s.top == ${none} ? ${none} : ${fma('s.top', lit(Math.LN2), log(`s.${sum}`))})`,
        ),
    index: [],
    rounds: true,
    several: (s, rows, slow) => {
      const shares = rows.map((_, u) => `share${u}`);
      const terms = sums.map((_, c) => {
        const weights = rows.map((row) => row[c + 1] ?? '');
        const isCount = weights.every((weight) => weight === one);
        return isCount
          ? 'count'
          : weights.map((weight, u) => times(shares[u] ?? '', weight)).join(' + ');
      });
      return lines(
        '{',
        ...rows.map(([f = ''], u) => `  const V ${shares[u] ?? ''} = ${scaled(f, `${s}.top`)};`),
        `  const V count = ${shares.join(' + ')};`,
        `  if (${always(`count < ${lit(MOST_A_ROW * rows.length)}`)}) {`,
        ...sums.map((sum, c) => `    ${s}.${sum} = ${s}.${sum} + (${terms[c] ?? ''});`),
        '  } else {',
        indent(slow, 4),
        '  }',
        '}',
      );
    },
  };
}
