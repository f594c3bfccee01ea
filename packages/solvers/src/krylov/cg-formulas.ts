import {
  add,
  constant,
  div,
  eq,
  ge,
  gt,
  le,
  mul,
  select,
  sqrt,
  sub,
  type RealExpr,
} from '@mercer/formula';
import {
  and,
  begun,
  checked,
  ENERGY,
  firstOf,
  isFinite,
  not,
  or,
  runs,
  statusAfter,
  v,
  where,
} from './decisions.js';
import { Status } from './status.js';

/** Only along a direction of positive energy; false for NaN. */
const moves = and(runs, gt(v('pap'), 0));
const alpha = select(moves, div(v('rz'), v('pap')), 0);

/** The step along p, of the elements of columns. */
export const STEP = {
  x: select(moves, add(v('x'), mul(alpha, v('p'))), v('x')),
  r: select(moves, sub(v('r'), mul(alpha, v('ap'))), v('r')),
};

const beta = select(moves, div(v('next'), v('rz')), 0);

/** The next direction, by the numbers before the step's; that of a column that rests is of no use. */
export const DIRECTION = add(v('z'), mul(beta, v('p')));

const norm = sqrt(v('rr'));
const statusOfStep = statusAfter(
  [
    [and(isFinite(v('pap')), le(v('pap'), 0)), Status.indefinite],
    [not(isFinite(v('pap'))), Status.notFinite],
    [not(isFinite(v('rr'))), Status.notFinite],
  ],
  le(norm, v('tolerance')),
  [
    [not(isFinite(v('next'))), Status.notFinite],
    [le(v('next'), 0), Status.badPreconditioner],
  ],
);
/** What a step makes of each column that has gained so much energy. */
const recurrence = (gained: RealExpr) => ({
  ...where(runs, {
    status: statusOfStep,
    figure: firstOf(
      [
        [eq(statusOfStep, Status.indefinite), v('pap')],
        [eq(statusOfStep, Status.badPreconditioner), v('next')],
      ],
      v('figure'),
    ),
    count: add(v('count'), 1),
  }),
  ...where(moves, { norm }),
  gain: add(v('gain'), gained),
  total: add(v('total'), gained),
  best: v('best'),
  since: v('since'),
  lost: v('lost'),
});

/** What a step makes of each column. `next` is r . P r of the residual after it. `gain` is the energy that x has gained since `best`, and `total` in all; `lost` counts restarts since `best`. */
export const RECURRENCE = {
  ...recurrence(select(moves, div(mul(v('rz'), v('rz')), v('pap')), 0)),
  ...where(moves, { rz: v('next') }),
};

/** Restarts without a fall of the least true residual after which rounding is taken to be all that is left. */
const MOST_LOST = 5;

const { improves, restarts, columns } = checked(ENERGY, {
  carried: v('norm'),
  rests: or(le(v('gain'), mul(v('unit'), v('total'))), ge(v('lost'), MOST_LOST)),
});

/** What a true residual makes of each column, in every form of the method. */
const checkedColumns = {
  ...columns,
  gain: select(improves, 0, v('gain')),
  total: v('total'),
  lost: select(improves, 0, add(v('lost'), select(restarts, 1, 0))),
};

/** What a true residual makes of each column. `norm2` is its square, `next` is r . P r of it. */
export const CHECK = { ...checkedColumns, rz: select(restarts, v('next'), v('rz')) };

/** The true residual and its direction, of columns that restart. */
export const RESTART = where(eq(v('restarts'), 1), { r: v('truth'), p: v('z') });

const begin = { ...begun(ENERGY), gain: constant(0), total: constant(0), lost: constant(0) };

/** Columns before the first step. */
export const BEGIN = { ...begin, rz: v('next') };

/** The same of the block method: `pap` is the least eigenvalue of `P^T A P`, and `gained` the energy that the step gave a column. */
export const BLOCK = {
  BEGIN: begin,
  RECURRENCE: recurrence(select(moves, v('gained'), 0)),
  CHECK: checkedColumns,
  /** Coefficients of steps: those of columns that rest are 0. */
  MOVES: select(moves, 1, 0),
  RUNS: select(runs, 1, 0),
  /** The vectors after a step; those of a column that rests keep their bits. */
  STEP: where(eq(v('moving'), 1), { x: add(v('x'), v('dx')), r: sub(v('r'), v('dr')) }),
  /** The true residuals and directions of them, if any column restarts. */
  RESTART: where(eq(v('any'), 1), { r: v('truth'), p: v('fresh') }),
};
