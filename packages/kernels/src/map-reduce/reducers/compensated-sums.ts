import { upTo } from '../../emit/indent.js';
import type { Reducer, ReducerParts } from './reducer.js';
import { compensatedText, type SumOptions } from './sum-options.js';

/** Sum and Mean with compensated or float64 running sums, from the plain ones, which sum a block. */
export function compensatedSumReducer(
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
