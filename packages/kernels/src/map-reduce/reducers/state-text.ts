import { indent, lines, upTo } from '../../emit/indent.js';
import type { Reducer, Accumulator } from './reducer.js';

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
