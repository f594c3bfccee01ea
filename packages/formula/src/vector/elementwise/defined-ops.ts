import {
  add,
  div,
  eq,
  exp,
  ge,
  log,
  lt,
  gt,
  max,
  mul,
  neg,
  select,
  variable,
} from '../../constructors.js';
import type { RealExpr } from '../../expr.js';

/** Names for scalar expressions. */
export type DefinedOp =
  'square' | 'inv' | 'relu' | 'step' | 'clamp' | 'ifElse' | 'xlogx' | 'logistic';

const [x0, x1, x2] = [variable('x0'), variable('x1'), variable('x2')];

/** What each name stands for, over the variables `x0`, `x1`, `x2`; derivatives come from these. */
export const DEFINITIONS: { readonly [K in DefinedOp]: RealExpr } = {
  square: mul(x0, x0),
  inv: div(1, x0),
  relu: max(x0, 0),
  step: select(ge(x0, 0), 1, 0),
  clamp: select(lt(x0, x1), x1, select(gt(x0, x2), x2, x0)),
  ifElse: select(ge(x0, 0), x1, x2),
  xlogx: select(eq(x0, 0), 0, mul(x0, log(x0))),
  logistic: div(1, add(1, exp(neg(x0)))),
};
