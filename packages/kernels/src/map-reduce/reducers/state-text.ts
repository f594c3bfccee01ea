import { indent, lines } from '../../emit/indent.js';
import { upTo, type Reducer, type Slot } from './reducer.js';

/**
 * The C++ text of a running result: `struct State`, `empty()`, `add(s, f0, ..., row)` and `merge(s, t)`;
 * `struct Block` likewise where a block is summed in another type. The dialect defines `V`, `I`, `INLINE`, `UNUSED`, `number`, `real`, `any`.
 */
export function stateText(reducer: Reducer): string {
  const { block } = reducer;
  const parameters = upTo(reducer.arity).map((c) => `UNUSED V f${c}`);
  return lines(
    structText('State', 'empty', reducer.slots, reducer.members),
    reducer.functions,
    `INLINE void add(State& s, ${[...parameters, 'UNUSED I row'].join(', ')}) {`,
    indent(reducer.add),
    '}',
    'INLINE void merge(State& s, const State& t) {',
    indent(reducer.merge),
    '}',
    block !== undefined &&
      lines(
        structText('Block', 'emptyBlock', block.slots),
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
  slots: readonly Slot[],
  members = slots.map((slot) => `${slot.type} ${slot.name};`).join(' '),
): string {
  return lines(
    `struct ${type} { ${members} };`,
    `INLINE ${type} ${empty}() {`,
    `  ${type} s;`,
    ...slots.map((slot) => `  s.${slot.name} = ${slot.empty};`),
    '  return s;',
    '}',
  );
}
