import { indent, lines } from '../../emit/indent.js';
import { pointer, type KernelParam } from '../../kernel-param.js';
import { paramsAround } from '../params.js';
import type { RunningResult } from '../reducers/running-result.js';
import type { SelectionPlan } from './plan-selection.js';

/** How a dialect writes a pair that is wanted. */
export interface WriteText {
  /** The number of pairs that a row has written so far is `state.seen`. */
  readonly add: (total: string, mask: string, values: readonly string[], row: string) => string;
}

/** The parameters of a selection, see `emitSelection`; values where there are any. */
export function selectionParams({ pass, valueDim }: SelectionPlan): KernelParam[] {
  return paramsAround(pass, [
    pointer('offsets', 'int64', 'read'),
    pointer('rows', 'int32', 'write'),
    ...(valueDim > 0 ? [pointer('values', pass.dtype, 'write')] : []),
  ]);
}

/** A running result that counts the pairs of a row, and writes each where the row's offset and the count say. */
export function selectedRows({ add }: WriteText): RunningResult {
  return {
    block: undefined,
    several: undefined,
    inMemory: undefined,
    text: lines(
      'struct State { I seen; };',
      'INLINE State empty() {',
      indent('State s;\ns.seen = number(0);\nreturn s;'),
      '}',
    ),
    accumulators: [{ name: 'seen', type: 'I', empty: 'number(0)' }],
    add: (total, _, [mask = '', ...rest]) => add(total, mask, rest.slice(0, -1), rest.at(-1) ?? ''),
    outputs: [],
  };
}
