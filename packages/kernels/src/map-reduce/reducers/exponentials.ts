import { base2ExponentialReducer } from './base2-exponentials.js';
import { compensatedExponentialReducer } from './compensated-exponentials.js';
import { indent, lines, upTo } from '../../emit/indent.js';
import type { Reducer, ReducerDialect, ReducerParts } from './reducer.js';
import { PLAIN_SUMS } from './sum-options.js';

/**
 * Sums of exp(F) G, kept as the largest F so far and sums of exp(F - largest) G: LogSumExp,
 * SumSoftMaxWeight (whose last weight is 1), MaxSumShiftExp. One exponential a row. A row with F = -inf
 * is passed over before anything is subtracted; F = +inf counts 1; a NaN stays.
 */
export function exponentialReducer(parts: ReducerParts): Reducer {
  const { kind, weightDim, sums: options = PLAIN_SUMS } = parts;
  const { lit, exp, log, abs, larger, scalar, vector } = parts.dialect;
  const isPlain = !options.inFloat64 && options.scheme === 'block';
  const base2 = scalar ?? vector?.base2;
  if (base2 && isPlain && kind !== 'MaxSumShiftExp') return base2ExponentialReducer(parts, base2);
  const none = lit(-Infinity);
  const sums = upTo(weightDim + (kind === 'SumSoftMaxWeight' ? 1 : 0)).map((c) => `sum${c}`);
  const shares = sums.map((sum, c) => {
    const weight = `f${c + 1}`;
    // what counts nothing may be infinite
    const before = `(share == ${lit(0)} ? ${lit(0)} : s.${sum} * share)`;
    const added = `(share == ${lit(0)} ? ${lit(0)} : ${weight} * share)`;
    return `s.${sum} = f0 == ${none} ? s.${sum} : (f0 > s.top ? ${before} + ${weight} : s.${sum} + ${added});`;
  });
  const last = sums.at(-1) ?? '';
  const value = {
    LogSumExp: sums.map((sum) => `(s.top == ${none} ? ${none} : s.top + ${log(`s.${sum}`)})`),
    SumSoftMaxWeight: sums.slice(0, -1).map((sum) => `s.${sum} / s.${last}`),
    MaxSumShiftExp: ['s.top', ...sums.map((sum) => `s.${sum}`)],
  }[kind as 'LogSumExp' | 'SumSoftMaxWeight' | 'MaxSumShiftExp'];
  const plain: Reducer = {
    accumulators: [
      { name: 'top', type: 'V', empty: none },
      ...sums.map((name) => ({ name, type: 'V', empty: lit(0) }) as const),
    ],
    arity: 1 + sums.length,
    add: [
      `const V near = ${exp(`-${abs('f0 - s.top')}`)};`,
      `const V share = f0 == s.top ? ${lit(1)} : near;`,
      ...shares,
      's.top = (I)(f0 > s.top) | (I)(f0 != f0) ? f0 : s.top;',
    ].join('\n'),
    merge: `add(s, ${['top', ...sums].map((name) => `t.${name}`).join(', ')}, number(0));`,
    value,
    index: [],
    rounds: options.scheme === 'block',
    ...(larger && {
      several: (s, rows, slow) =>
        severalText({ ...parts.dialect, larger }, sums, { s, rows, slow }),
    }),
  };
  return options.inFloat64 || options.scheme === 'kahan'
    ? compensatedExponentialReducer(parts, plain, options)
    : plain;
}

/** One exponential a row and one for what was there; rows whose largest F is not finite go the slow way. */
function severalText(
  {
    lit,
    exp,
    abs,
    larger,
  }: Pick<ReducerDialect, 'lit' | 'exp' | 'abs'> & {
    readonly larger: NonNullable<ReducerDialect['larger']>;
  },
  sums: readonly string[],
  {
    s,
    rows,
    slow,
  }: { readonly s: string; readonly rows: readonly (readonly string[])[]; readonly slow: string },
): string {
  const [zero, one] = [lit(0), lit(1)];
  const most = rows.map(([f = '']) => f).reduce(larger);
  const shares = rows.map(([f = ''], u) => `const V share${u} = ${exp(`${f} - top`)};`);
  const totals = sums.map((sum, c) => {
    const terms = rows.map((row, u) => {
      const [share, weight] = [`share${u}`, row[c + 1] ?? ''];
      // what counts nothing may be infinite
      return weight === one ? share : `(${share} == ${zero} ? ${zero} : ${weight} * ${share})`;
    });
    const isCount = rows.every((row) => row[c + 1] === one);
    // a sum of shares alone is finite
    const kept = isCount
      ? `${s}.${sum} * keep`
      : `(keep == ${zero} ? ${zero} : ${s}.${sum} * keep)`;
    return `${s}.${sum} = ${kept} + (${terms.join(' + ')});`;
  });
  return lines(
    '{',
    `  const V top = ${larger(`${s}.top`, most)};`,
    `  if (${abs('top')} < ${lit(Infinity)}) {`,
    `    const V keep = ${exp(`${s}.top - top`)};`,
    indent(lines(...shares, ...totals), 4),
    `    ${s}.top = top;`,
    '  } else {',
    indent(slow, 4),
    '  }',
    '}',
  );
}
