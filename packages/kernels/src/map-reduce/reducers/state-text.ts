import { indent, lines } from '../../emit/indent.js';
import { upTo, type Reducer } from './reducer.js';

/**
 * The C++ text of a running result: `struct State`, `empty()`, `add(s, f0, ..., row)` and `merge(s, t)`. The dialect defines `V`, `I`, `INLINE`, `UNUSED`, `number`, `real`, `any`.
 */
export function stateText(reducer: Reducer): string {
  const parameters = upTo(reducer.arity).map((c) => `UNUSED V f${String(c)}`);
  return lines(
    `struct State { ${reducer.slots.map(({ name, type }) => `${type} ${name};`).join(' ')} };`,
    'INLINE State empty() {',
    '  State s;',
    ...reducer.slots.map(({ name, empty }) => `  s.${name} = ${empty};`),
    '  return s;',
    '}',
    reducer.functions,
    `INLINE void add(State& s, ${[...parameters, 'UNUSED I row'].join(', ')}) {`,
    indent(reducer.add),
    '}',
    'INLINE void merge(State& s, const State& t) {',
    indent(reducer.merge),
    '}',
  );
}
