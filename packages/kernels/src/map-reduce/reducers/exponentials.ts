import { base2ExponentialReducer } from './base2-exponentials.js';
import { indent, lines, upTo } from '../../emit/text.js';
import {
  type Reducer,
  type ReducerDialect,
  type ReducerParts,
  PLAIN_SUMS,
  compensatedText,
  type SumOptions,
} from './reducer.js';

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

/**
 * Sums of exp(F) G with compensated or float64 running sums, from the plain ones, which sum a block: the same rules,
 * with the factors of what was there and of what is added computed apart.
 */
function compensatedExponentialReducer(
  { kind, dialect: { lit, exp, log, abs } }: ReducerParts,
  plain: Reducer,
  { scheme, inFloat64 }: SumOptions,
): Reducer {
  const sums = upTo(plain.arity - 1).map(String);
  const none = lit(-Infinity);
  const type = inFloat64 ? 'W' : 'V';
  const inSum = (x: string): string => (inFloat64 ? `wide(${x})` : x);
  const zero = inSum(lit(0));
  const functions = lines(
    !inFloat64 && compensatedText(lit(0)),
    inFloat64
      ? `INLINE W scaled(W x, V by) { return choose(by == ${lit(0)}, ${zero}, x * wide(by)); }`
      : `INLINE V scaled(V x, V by) { return by == ${lit(0)} ? ${lit(0)} : x * by; }`,
    `INLINE void weigh(State& s, V f, ${sums.map((c) => `${type} g${c}`).join(', ')}) {`,
    `  const V near = ${exp(`-${abs('f - s.top')}`)};`,
    `  const V share = f == s.top ? ${lit(1)} : near;`,
    `  const V before = f > s.top ? share : ${lit(1)}, added = f > s.top ? ${lit(1)} : share;`,
    ...sums.map((c) =>
      inFloat64
        ? `  s.sum${c} = choose(f == ${none}, s.sum${c}, scaled(s.sum${c}, before) + scaled(g${c}, added));`
        : `  { V total = scaled(s.sum${c}, before), low = scaled(s.low${c}, before);
    compensated(total, low, scaled(g${c}, added));
    s.sum${c} = f == ${none} ? s.sum${c} : total; s.low${c} = f == ${none} ? s.low${c} : low; }`,
    ),
    '  s.top = (I)(f > s.top) | (I)(f != f) ? f : s.top;',
    '}',
  );
  const weigh = (f: string, weight: (c: string) => string): string =>
    `weigh(${['s', f, ...sums.map(weight)].join(', ')});`;
  const total = (c: string): string => (inFloat64 ? `s.sum${c}` : `(s.sum${c} - s.low${c})`);
  const narrowed = (x: string): string => (inFloat64 ? `narrow(${x})` : x);
  const last = sums.at(-1) ?? '0';
  const value = {
    LogSumExp: sums.map((c) => `(s.top == ${none} ? ${none} : s.top + ${log(narrowed(total(c)))})`),
    SumSoftMaxWeight: sums.slice(0, -1).map((c) => narrowed(`${total(c)} / ${total(last)}`)),
    MaxSumShiftExp: ['s.top', ...sums.map((c) => narrowed(total(c)))],
  }[kind as 'LogSumExp' | 'SumSoftMaxWeight' | 'MaxSumShiftExp'];
  return {
    accumulators: [
      { name: 'top', type: 'V', empty: none },
      ...sums.flatMap((c) => [
        { name: `sum${c}`, type, empty: zero } as const,
        ...(inFloat64 ? [] : [{ name: `low${c}`, type, empty: zero } as const]),
      ]),
    ],
    arity: plain.arity,
    add: weigh('f0', (c) => inSum(`f${Number(c) + 1}`)),
    merge: lines(
      weigh('t.top', (c) => `t.sum${c}`),
      !inFloat64 && weigh('t.top', (c) => `-t.low${c}`),
    ),
    value,
    index: [],
    rounds: inFloat64 && scheme === 'block',
    ...(inFloat64 &&
      scheme === 'block' && {
        block: {
          accumulators: plain.accumulators,
          add: plain.add,
          merge: weigh('t.top', (c) => `wide(t.sum${c})`),
        },
      }),
    functions,
  };
}
