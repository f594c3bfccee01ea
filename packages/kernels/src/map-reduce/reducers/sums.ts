import { upTo } from '../../emit/indent.js';
import { compensatedSumReducer } from './compensated-sums.js';
import type { Reducer, ReducerParts } from './reducer.js';
import { PLAIN_SUMS } from './sum-options.js';

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
