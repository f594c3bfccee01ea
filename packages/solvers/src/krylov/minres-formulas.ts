import {
  add,
  constant,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  mul,
  neg,
  select,
  sqrt,
  sub,
} from '@mercer/formula';
import {
  and,
  begun,
  checked,
  ENERGY,
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

/** The next Lanczos vector before it is normalised: `A v` without its parts along the last two. */
export const ORTHOGONAL = sub(sub(v('av'), mul(v('alfa'), v('q'))), mul(v('beta'), v('q0')));

const isReal = and(isFinite(v('alfa')), isFinite(v('next')));
const beta = sqrt(larger(v('next'), 0));
const delta = add(mul(v('cs'), v('dbar')), mul(v('sn'), v('alfa')));
const gbar = sub(mul(v('sn'), v('dbar')), mul(v('cs'), v('alfa')));
const dbar = neg(mul(v('cs'), beta));
/** By the norm of the residual before: `norm(A r) / norm(r)`. */
const slope = hypot(gbar, dbar);
const anorm = larger(v('anorm'), hypot(hypot(v('alfa'), v('beta')), beta));
/** x minimises the residual already, although that is not 0: the operator is singular. */
const isLeast = le(slope, mul(mul(10, v('unit')), anorm));
const moves = and(and(runs, isReal), and(ge(v('next'), 0), not(isLeast)));
const gamma = hypot(gbar, beta);
const cs = div(gbar, gamma);
const sn = div(beta, gamma);
const phi = mul(cs, v('phibar'));
const phibar = mul(sn, v('phibar'));

/**
 * What a product makes of each column: the next row of the tridiagonal matrix and its rotation (Paige and Saunders 1975). `alfa` is `v . A v`, `next` the
 * square of the next `beta`.
 */
export const ROTATION = {
  ...where(moves, { beta, dbar, epsln: mul(v('sn'), beta), phibar, cs, sn }),
  anorm: select(runs, anorm, v('anorm')),
  oldeps: v('epsln'),
  delta,
  /** The step, 0 for a column that does not move. */
  phi: select(moves, phi, 0),
  gamma,
  moves: select(moves, 1, 0),
  least: select(isLeast, 1, 0),
};

const isMoving = eq(v('moves'), 1);
const onwards = (one: ReturnType<typeof v>) => ratio(one, v('beta'));
const direction = div(
  sub(sub(v('v'), mul(v('oldeps'), v('w0'))), mul(v('delta'), v('w'))),
  v('gamma'),
);

/** The step of the elements of columns. `t` is the next Lanczos vector, `p` the preconditioned one, neither normalised. */
export const STEP = where(isMoving, {
  x: add(v('x'), mul(v('phi'), direction)),
  r: sub(mul(mul(v('sn'), v('sn')), v('r')), mul(mul(v('phibar'), v('cs')), onwards(v('t')))),
  q0: v('q'),
  q: onwards(v('t')),
  v: onwards(v('p')),
  w0: v('w'),
  w: direction,
});

const norm = sqrt(v('rr'));
const status = statusAfter(
  [
    [not(and(isReal, isFinite(v('rr')))), Status.notFinite],
    [lt(v('next'), 0), Status.badPreconditioner],
    [eq(v('least'), 1), Status.stagnated],
  ],
  le(norm, v('tolerance')),
  [[le(v('next'), 0), Status.stagnated]],
);

/** Where columns stand after the step, by `rr` of the residual that the recurrence carries. */
export const RECURRENCE = {
  ...where(runs, {
    status,
    figure: select(eq(status, Status.badPreconditioner), v('next'), v('figure')),
    count: select(isMoving, add(v('count'), 1), v('count')),
    norm,
  }),
  best: v('best'),
  since: v('since'),
};

const { restarts, columns } = checked(ENERGY, {
  carried: v('norm'),
  rests: recurrenceRests(sqrt(RESIDUAL.square), v('norm')),
});

/** The numbers of a column that begins at a true residual. */
const FRESH = {
  beta: constant(0),
  dbar: constant(0),
  epsln: constant(0),
  phibar: sqrt(v('next')),
  cs: constant(-1),
  sn: constant(0),
};

/** What a true residual makes of each column. */
export const CHECK = { ...columns, ...where(restarts, FRESH), anorm: v('anorm') };

/** Columns before the first step. */
export const BEGIN = { ...begun(ENERGY), ...FRESH, anorm: constant(0) };

/** The vectors of a column that begins at a true residual: `next` is `r . P r`, `z` is `P r`. */
const start = (one: ReturnType<typeof v>) => select(gt(v('next'), 0), div(one, sqrt(v('next'))), 0);
export const VECTORS = {
  r: v('truth'),
  q: start(v('truth')),
  v: start(v('z')),
  q0: constant(0),
  w: constant(0),
  w0: constant(0),
};

/** The same of columns that restart. */
export const RESTART = where(eq(v('restarts'), 1), VECTORS);
