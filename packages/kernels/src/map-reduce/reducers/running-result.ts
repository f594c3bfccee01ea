import { indent, lines, upTo } from '../../emit/text.js';
import type { Reducer, Accumulator } from './reducer.js';

/** The results of one reduction among those of a plan. */
export interface RunningOutput {
  /** Parameters that the results go to: `out` and `index`, with the reduction's number where it is not 0. */
  readonly names: { readonly value: string; readonly index: string };
  /** A statement that names the running result of this reduction `s` is in front where there are several. */
  readonly bind: (state: string) => string;
  readonly value: readonly string[];
  /** Whether `value` reads `count`, the number of rows. */
  readonly readsCount: boolean;
  readonly index: readonly string[];
}

/** All reductions of a plan as one C++ `State`, with `empty()` and `merge(State&, const State&)`. */
export interface RunningResult {
  /** The definitions. */
  readonly text: string;
  /** Members of `State`, in order. */
  readonly accumulators: readonly Accumulator[];
  /** What a tile of rows is summed in before it is merged, where anything is. */
  readonly block?:
    | {
        readonly type: string;
        /** One of no rows, to go on with beside `total`. */
        readonly empty: (total: string) => string;
      }
    | undefined;
  /** The statement that adds a row with these values and this number last. */
  readonly add: (total: string, block: string, args: readonly string[]) => string;
  /** The same for reduction number `n` alone, with its own values. */
  readonly addTo?:
    ((n: number, total: string, block: string, args: readonly string[]) => string) | undefined;
  /** Statements that add several rows at less cost, each with its values and its number last; `slow` adds them one by one. */
  readonly several?:
    | ((
        total: string,
        block: string,
        rows: readonly (readonly string[])[],
        slow?: string,
      ) => string)
    | undefined;
  readonly outputs: readonly RunningOutput[];
  /** Where running results rest in memory: the statements that begin and end those of a kept row, or of a vector of them. There is no `State` then. */
  readonly inMemory?: { readonly begin: string; readonly end?: string | undefined } | undefined;
}

/** What reducers have that need it. */
const NO_MORE = {
  readsCount: undefined,
  members: undefined,
  block: undefined,
  beside: undefined,
  several: undefined,
  functions: undefined,
};
const NO_SHORTCUT = { block: undefined, several: undefined, inMemory: undefined };

/** The running result of reductions over the same pairs: the plain text of a reduction where there is one. */
export function runningResult(given: readonly Reducer[]): RunningResult {
  const reducers = given.map((one): Reducer => ({ ...NO_MORE, ...one }));
  const [only] = reducers;
  const result = only !== undefined && reducers.length === 1 ? single(only) : several(reducers);
  return { ...NO_SHORTCUT, ...result };
}

function single(reducer: Reducer): RunningResult {
  const add = (total: string, block: string, args: readonly string[]): string =>
    `add(${[reducer.rounds ? block : total, ...args].join(', ')});`;
  const { several } = reducer;
  return {
    text: stateText(reducer),
    accumulators: reducer.accumulators,
    ...(reducer.rounds && {
      block:
        reducer.block === undefined
          ? { type: 'State', empty: reducer.beside ?? ((): string => 'empty()') }
          : { type: 'Block', empty: () => 'emptyBlock()' },
    }),
    add,
    ...(several && {
      several: (total, block, rows, slow = lines(...rows.map((args) => add(total, block, args)))) =>
        several(reducer.rounds ? block : total, rows, slow),
    }),
    outputs: [output(reducer, 0, (state) => `UNUSED const State& s = ${state};`)],
  };
}

/** A namespace for each, whose names would clash; what rounds is in a `Block` too. */
function several(reducers: readonly Reducer[]): RunningResult {
  const rounding = reducers.flatMap(({ rounds }, n) => (rounds ? [n] : []));
  const space = (n: number): string => `reduction${n}`;
  const member = (n: number): string => `part${n}`;
  const all = reducers.map((_, n) => n);
  const isBlock = (type: string, n: number): boolean =>
    type === 'Block' && reducers[n]?.block !== undefined;
  const struct = (type: string, which: readonly number[]): string =>
    `struct ${type} { ${which.map((n) => `${space(n)}::${isBlock(type, n) ? 'Block' : 'State'} ${member(n)};`).join(' ')} };`;
  const empty = (type: string, name: string, which: readonly number[]): string =>
    `INLINE ${type} ${name}() { return {${which.map((n) => `${space(n)}::${isBlock(type, n) ? 'emptyBlock' : 'empty'}()`).join(', ')}}; }`;
  const merge = (type: string, which: readonly number[]): string =>
    lines(
      `INLINE void merge(State& s, const ${type}& t) {`,
      ...which.map((n) => `  ${space(n)}::merge(s.${member(n)}, t.${member(n)});`),
      '}',
    );
  const hasBlock = rounding.length > 0;
  const addTo = (n: number, total: string, block: string, args: readonly string[]): string => {
    const target = `${reducers[n]?.rounds === true ? block : total}.${member(n)}`;
    return `${space(n)}::add(${[target, ...args].join(', ')});`;
  };
  return {
    text: lines(
      ...reducers.map((reducer, n) =>
        lines(`namespace ${space(n)} {`, indent(stateText(reducer)), '}'),
      ),
      struct('State', all),
      empty('State', 'empty', all),
      merge('State', all),
      hasBlock &&
        lines(
          struct('Block', rounding),
          empty('Block', 'emptyBlock', rounding),
          merge('Block', rounding),
        ),
    ),
    accumulators: reducers.flatMap(({ accumulators }, n) =>
      accumulators.map((accumulator) => ({
        ...accumulator,
        name: `${member(n)}.${accumulator.name}`,
      })),
    ),
    ...(hasBlock && { block: { type: 'Block', empty: () => 'emptyBlock()' } }),
    addTo,
    add: (total, block, args) => {
      const row = args.at(-1) ?? '';
      let from = 0;
      return lines(
        ...reducers.map(({ arity }, n) => {
          const own = upTo(arity).map((c) => args[from + c] ?? '');
          from += arity;
          return addTo(n, total, block, [...own, row]);
        }),
      );
    },
    outputs: reducers.map((reducer, n) =>
      output(reducer, n, (state) => `UNUSED const ${space(n)}::State& s = ${state}.${member(n)};`),
    ),
  };
}

function output(
  { value, index, readsCount }: Reducer,
  n: number,
  bind: (state: string) => string,
): RunningOutput {
  return { names: outputNames(n), bind, value, readsCount: readsCount === true, index };
}

/** The pointers that reduction number `n` of a plan writes. */
export function outputNames(n: number): { readonly value: string; readonly index: string } {
  const suffix = n === 0 ? '' : String(n);
  return { value: `out${suffix}`, index: `index${suffix}` };
}

/**
 * The C++ text of a running result: `struct State`, `empty()`, `add(s, f0, ..., row)` and `merge(s, t)`;
 * `struct Block` likewise where a block is summed in another type. The dialect defines `V`, `I`, `INLINE`, `UNUSED`, `number`, `real`, `any`.
 */
export function stateText(reducer: Reducer): string {
  const { block } = reducer;
  const parameters = upTo(reducer.arity).map((c) => `UNUSED V f${c}`);
  return lines(
    structText('State', 'empty', reducer.accumulators, reducer.members),
    reducer.functions,
    `INLINE void add(State& s, ${[...parameters, 'UNUSED I row'].join(', ')}) {`,
    indent(reducer.add),
    '}',
    'INLINE void merge(State& s, const State& t) {',
    indent(reducer.merge),
    '}',
    block !== undefined &&
      lines(
        structText('Block', 'emptyBlock', block.accumulators),
        `INLINE void add(Block& s, ${[...parameters, 'UNUSED I row'].join(', ')}) {`,
        indent(block.add),
        '}',
        'INLINE void merge(State& s, const Block& t) {',
        indent(block.merge),
        '}',
      ),
  );
}

function structText(
  type: string,
  empty: string,
  accumulators: readonly Accumulator[],
  members = accumulators.map((accumulator) => `${accumulator.type} ${accumulator.name};`).join(' '),
): string {
  return lines(
    `struct ${type} { ${members} };`,
    `INLINE ${type} ${empty}() {`,
    `  ${type} s;`,
    ...accumulators.map((accumulator) => `  s.${accumulator.name} = ${accumulator.empty};`),
    '  return s;',
    '}',
  );
}
