import {
  abs,
  add,
  constant,
  div,
  eq,
  gt,
  le,
  mul,
  neg,
  select,
  sqrt,
  sub,
  type RealExpr,
} from '@mercer/formula';
import {
  and,
  begun,
  checked,
  hypot,
  isFinite,
  larger,
  not,
  ratio,
  recurrenceRests,
  RESIDUAL,
  runs,
  statusAfter,
  v,
  where,
} from './decisions.js';
import { Status } from './status.js';

/** A vector without its parts along the basis. */
export const ORTHOGONAL = sub(v('w'), v('parts'));

/** Of the new column of R, its last number before the rotation is `last`, and `ww` is the square of what is below. */
const below = sqrt(v('ww'));
const rho = hypot(v('last'), below);
const anorm = larger(v('anorm'), sqrt(add(v('hh'), v('ww'))));
const isReal = and(isFinite(v('hh')), isFinite(v('ww')));
/** The basis and its products are as good as dependent: the operator is singular. */
const isEnd = le(rho, mul(mul(10, v('unit')), anorm));
const moves = and(and(runs, isReal), not(isEnd));
const [cs, sn] = [div(v('last'), rho), div(below, rho)];
const phibar = neg(mul(sn, v('phibar')));
const status = statusAfter(
  [
    [not(isReal), Status.notFinite],
    [isEnd, Status.stagnated],
  ],
  le(abs(phibar), v('tolerance')),
);

/** What a new vector of the basis makes of each column (Saad and Schultz 1986): the rotation that ends its column of the Hessenberg matrix. */
export const ROTATION = {
  ...where(runs, { status, anorm }),
  ...where(moves, { phibar, norm: abs(phibar), count: add(v('count'), 1) }),
  figure: v('figure'),
  best: v('best'),
  since: v('since'),
  cs: select(moves, cs, 1),
  sn: select(moves, sn, 0),
  /** The new number of the right-hand side, one by the new one on the diagonal of R, and by the norm of the vector. */
  phi: select(moves, mul(cs, v('phibar')), 0),
  inverse: select(moves, div(1, rho), 0),
  by: select(moves, ratio(1, below), 0),
};

export const NEXT_VECTOR = mul(v('w'), v('by'));

const isAt = (name: string, at: RealExpr) => eq(v(name), at);
const [at, after] = [v('at'), add(v('at'), 1)];
const isNew = isAt('k', after);

/** The rotations so far as one matrix, (restart + 1, restart + 1, K); `row` is the row `at`, at which the new one turns. */
export const ROTATIONS = select(
  isAt('i', at),
  add(mul(v('cs'), v('row')), select(isNew, v('sn'), 0)),
  select(isAt('i', after), sub(select(isNew, v('cs'), 0), mul(v('sn'), v('row'))), v('turned')),
);

/** The inverse of R so far, (restart, restart, K), with one more column; `column` is its product with that of R. */
export const INVERSE = select(
  isAt('k', at),
  select(isAt('i', at), v('inverse'), neg(mul(v('inverse'), v('column')))),
  v('upper'),
);

/** The right-hand side so far, (restart, K). */
export const RIGHT = select(isAt('i', at), v('phi'), v('right'));

/** What a true residual makes of each column. All that go on begin at it. */
const { columns } = checked(RESIDUAL, {
  carried: constant(0),
  rests: recurrenceRests(sqrt(RESIDUAL.square), v('norm')),
});
const { restarts: _, ...numbers } = columns;
export const CHECK = { ...numbers, phibar: numbers.norm, anorm: v('anorm') };

/** Columns before the first step. */
export const BEGIN = { ...begun(RESIDUAL), phibar: sqrt(v('norm2')), anorm: constant(0) };

/** The first vector of the basis. */
export const FIRST = select(and(runs, gt(v('norm'), 0)), div(v('truth'), v('norm')), 0);
