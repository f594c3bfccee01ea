import { lines, upTo } from '../../emit/indent.js';
import type { Reducer, ReducerParts } from './reducer.js';
import { compensatedText, type SumOptions } from './sum-options.js';

/**
 * Sums of exp(F) G with compensated or float64 running sums, from the plain ones, which sum a block: the same rules,
 * with the factors of what was there and of what is added computed apart.
 */
export function compensatedExponentialReducer(
  { kind, dialect: { lit, exp, log, abs } }: ReducerParts,
  plain: Reducer,
  { scheme, inFloat64 }: SumOptions,
): Reducer {
  const sums = upTo(plain.arity - 1).map(String);
  const none = lit(-Infinity);
  const type = inFloat64 ? 'W' : 'V';
  const widened = (x: string): string => (inFloat64 ? `wide(${x})` : x);
  const zero = widened(lit(0));
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
    add: weigh('f0', (c) => widened(`f${Number(c) + 1}`)),
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
