import { upTo } from '../../emit/text.js';
import {
  type Reducer,
  type ReducerParts,
  PLAIN_SUMS,
  compensatedText,
  type SumOptions,
} from './reducer.js';

/** Sum and Mean, Prod, and what counts values that are not 0. */
export function sumReducer(parts: ReducerParts): Reducer {
  const { kind, dim, sums = PLAIN_SUMS } = parts;
  const { lit } = parts.dialect;
  const product = kind === 'Prod';
  const names = upTo(dim).map((c) => `total${c}`);
  const sign = product ? '*' : '+';
  const with_ = (other: (c: number) => string): string =>
    names.map((name, c) => `s.${name} = s.${name} ${sign} ${other(c)};`).join('\n');
  const plain: Reducer = {
    accumulators: names.map((name) => ({ name, type: 'V', empty: lit(product ? 1 : 0) })),
    arity: dim,
    add: with_((c) => `f${c}`),
    merge: with_((c) => `t.${names[c] ?? ''}`),
    value: names.map((name) => (kind === 'Mean' ? `s.${name} / count` : `s.${name}`)),
    readsCount: kind === 'Mean',
    index: [],
    rounds: !product && sums.scheme === 'block',
  };
  return sums.inFloat64 || sums.scheme === 'kahan'
    ? compensatedSumReducer(parts, plain, sums)
    : plain;
}

/** Count, Any and All: whole numbers, so that nothing is rounded. */
export function countReducer({ kind, dim, dialect: { lit } }: ReducerParts): Reducer {
  const names = upTo(dim).map((c) => `seen${c}`);
  const text = {
    // a NaN is not 0
    Count: {
      add: (s: string, f: string) => `${s} = ${f} != ${lit(0)} ? ${s} + number(1) : ${s};`,
      merge: (s: string, t: string) => `${s} = ${s} + ${t};`,
    },
    Any: {
      add: (s: string, f: string) => `${s} = ${f} != ${lit(0)} ? number(1) : ${s};`,
      merge: (s: string, t: string) => `${s} = ${s} | ${t};`,
    },
    All: {
      add: (s: string, f: string) => `${s} = ${f} != ${lit(0)} ? ${s} : number(0);`,
      merge: (s: string, t: string) => `${s} = ${s} & ${t};`,
    },
  }[kind as 'Count' | 'Any' | 'All'];
  return {
    accumulators: names.map((name) => ({
      name,
      type: 'I',
      empty: kind === 'All' ? 'number(1)' : 'number(0)',
    })),
    arity: dim,
    add: names.map((name, c) => text.add(`s.${name}`, `f${c}`)).join('\n'),
    merge: names.map((name) => text.merge(`s.${name}`, `t.${name}`)).join('\n'),
    value: names.map((name) => `real(s.${name})`),
    index: [],
    rounds: false,
  };
}

/** Sum and Mean with compensated or float64 running sums, from the plain ones, which sum a block. */
function compensatedSumReducer(
  { kind, dim, dialect: { lit } }: ReducerParts,
  plain: Reducer,
  { scheme, inFloat64 }: SumOptions,
): Reducer {
  const all = upTo(dim).map(String);
  const mean = kind === 'Mean';
  if (!inFloat64) {
    const both = (f: (c: string) => string): string => all.map(f).join('\n');
    return {
      accumulators: all.flatMap((c) => [
        { name: `total${c}`, type: 'V', empty: lit(0) } as const,
        { name: `low${c}`, type: 'V', empty: lit(0) } as const,
      ]),
      arity: dim,
      add: both((c) => `compensated(s.total${c}, s.low${c}, f${c});`),
      merge: both(
        (c) =>
          `compensated(s.total${c}, s.low${c}, t.total${c});\ncompensated(s.total${c}, s.low${c}, -t.low${c});`,
      ),
      value: all.map((c) => `(s.total${c} - s.low${c})${mean ? ' / count' : ''}`),
      readsCount: mean,
      index: [],
      rounds: false,
      functions: compensatedText(lit(0)),
    };
  }
  const plus = (term: (c: string) => string): string =>
    all.map((c) => `s.total${c} = s.total${c} + ${term(c)};`).join('\n');
  return {
    accumulators: all.map((c) => ({ name: `total${c}`, type: 'W', empty: `wide(${lit(0)})` })),
    arity: dim,
    add: plus((c) => `wide(f${c})`),
    merge: plus((c) => `t.total${c}`),
    value: all.map((c) => `narrow(s.total${c}${mean ? ' / wide(count)' : ''})`),
    readsCount: mean,
    index: [],
    rounds: scheme === 'block',
    ...(scheme === 'block' && {
      block: {
        accumulators: plain.accumulators,
        add: plain.add,
        merge: plus((c) => `wide(t.total${c})`),
      },
    }),
  };
}
