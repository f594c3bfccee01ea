import { genericArgKMin, genericSum, genred } from './index.js';
import type { Mistake } from './matrix-mistakes.test-support.js';

/** Mistakes with formulas in text. */
export const TEXT_MISTAKES: readonly Mistake[] = [
  ['a text that is no formula', () => genred('Exp(x', ['x = Vi(2)']), 'SYNTAX', /genred/],
  ['an unknown operation', () => genred('Exq(x)', ['x = Vi(2)']), 'SYNTAX', /Exp/],
  ['an alias that is none', () => genred('x', ['x is Vi(2)']), 'SYNTAX', /=/],
  [
    'an unknown reduction',
    () => genred('x', ['x = Vi(2)'], { reduction: 'Sums' as never }),
    'INVALID_ARGUMENT',
    /"Sums"/,
  ],
  [
    'another axis',
    () => genred('x', ['x = Vi(2)'], { axis: 2 as never }),
    'INVALID_ARGUMENT',
    /the axis is 2/,
  ],
  [
    'a gap among positions',
    () => genred('x + y', ['x = Vi(0, 2)', 'y = Vj(2, 2)']),
    'INVALID_ARGUMENT',
    /none at position 1/,
  ],
  [
    'one position twice',
    () => genred('x + Var(0, 2, 1)', ['x = Vi(0, 2)']),
    'INVALID_ARGUMENT',
    /position/,
  ],
  [
    'too few arguments',
    ({ x }) =>
      genred('x * y', ['x = Vi(2)', 'y = Vj(2)'])(...([x] as unknown as [typeof x, typeof x])),
    'UNBOUND_VARIABLE',
    /y \(j-variable.*not bound/,
  ],
  [
    'one argument too many',
    ({ x }) => genred('Sum(x)', ['x = Vi(2)'])(...([x, x] as unknown as [typeof x])),
    'INVALID_ARGUMENT',
    /2 arguments given, and the formula has 1/,
  ],
  [
    'an option that is none',
    ({ x }) => genred('Sum(x)', ['x = Vi(2)'])(x, { outt: x } as never),
    'INVALID_ARGUMENT',
    /Did you mean 'out'\? The options are out, stream, device, dtype, .*ranges/,
  ],
  [
    'an output of another dim',
    () => genericSum('x - y', 'a = Vi(3)', ['x = Vi(2)', 'y = Vj(2)']),
    'DIM_MISMATCH',
    /dim 3 and the reduction gives 2/,
  ],
  [
    'an output that is a parameter',
    () => genericArgKMin('x', 'a = Pm(3)', ['x = Vi(1)']),
    'INVALID_ARGUMENT',
    /Vi\(dim\)/,
  ],
  [
    'an option of genred as in KeOps',
    () => genred('x', ['x = Vi(2)'], { reduction_op: 'Max' } as never),
    'INVALID_ARGUMENT',
    /genred: there is no option 'reduction_op'. Did you mean 'reduction'\?/,
  ],
  [
    'an option of genred that there is not',
    () => genred('x', ['x = Vi(2)'], { axes: 1 } as never),
    'INVALID_ARGUMENT',
    /no option 'axes'. Did you mean 'axis'\? The options are reduction, axis, formula2, k, operations/,
  ],
  [
    'aliases as one text',
    () => genred('x', 'x = Vi(2)' as never),
    'INVALID_ARGUMENT',
    /aliases: they are the text "x = Vi\(2\)"\. Pass a list/,
  ],
];
