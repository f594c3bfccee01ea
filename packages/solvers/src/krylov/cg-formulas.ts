import {
  abs,
  add,
  constant,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  mul,
  select,
  sqrt,
  sub,
  variable,
  type BoolExpr,
  type RealExpr,
} from '@mercer/formula';
import { CHECK_EVERY } from './iterate.js';
import { Status } from './status.js';

type Real = RealExpr | number;

const v = (name: string): RealExpr => variable(name);

const and = (a: BoolExpr, b: BoolExpr): BoolExpr => eq(select(a, select(b, 1, 0), 0), 1);

const or = (a: BoolExpr, b: BoolExpr): BoolExpr => eq(select(a, 1, select(b, 1, 0)), 1);

const not = (a: BoolExpr): BoolExpr => eq(select(a, 1, 0), 0);

const isFinite = (x: Real): BoolExpr => le(abs(x), Number.MAX_VALUE);

/** The first value whose condition holds. */
const firstOf = (cases: readonly (readonly [BoolExpr, Real])[], otherwise: Real): RealExpr =>
  cases.reduceRight<Real>(
    (rest, [condition, value]) => select(condition, value, rest),
    otherwise,
  ) as RealExpr;

const runs = eq(v('status'), Status.running);
/** Only along a direction of positive energy; false for NaN. */
const moves = and(runs, gt(v('pap'), 0));
const alpha = select(moves, div(v('rz'), v('pap')), 0);

/** The step along p, of the elements of columns. */
export const STEP = {
  x: select(moves, add(v('x'), mul(alpha, v('p'))), v('x')),
  r: select(moves, sub(v('r'), mul(alpha, v('ap'))), v('r')),
};

/** The next direction; that of a column that rests is of no use. */
export const DIRECTION = add(v('z'), mul(v('beta'), v('p')));

const norm = sqrt(v('rr'));
const count = add(v('count'), 1);
const statusOfStep = firstOf(
  [
    [and(isFinite(v('pap')), le(v('pap'), 0)), Status.indefinite],
    [not(isFinite(v('pap'))), Status.notFinite],
    [not(isFinite(v('rr'))), Status.notFinite],
    [le(norm, v('tolerance')), Status.converged],
    [not(isFinite(v('next'))), Status.notFinite],
    [le(v('next'), 0), Status.badPreconditioner],
    [ge(count, v('most')), Status.limit],
  ],
  Status.running,
);
const gained = select(moves, div(mul(v('rz'), v('rz')), v('pap')), 0);

/** What a step makes of each column. `next` is r . P r of the residual after it. `gain` is the energy that x has gained since `best`, and `total` in all. */
export const RECURRENCE = {
  status: select(runs, statusOfStep, v('status')),
  figure: select(
    runs,
    firstOf(
      [
        [eq(statusOfStep, Status.indefinite), v('pap')],
        [eq(statusOfStep, Status.badPreconditioner), v('next')],
      ],
      v('figure'),
    ),
    v('figure'),
  ),
  count: select(runs, count, v('count')),
  norm: select(moves, norm, v('norm')),
  rz: select(moves, v('next'), v('rz')),
  beta: select(moves, div(v('next'), v('rz')), 0),
  gain: add(v('gain'), gained),
  total: add(v('total'), gained),
  best: v('best'),
  since: v('since'),
};

const real = v('norm2');
const truth = sqrt(real);
const failed = ge(v('status'), Status.indefinite);
const improves = lt(truth, mul(0.9, v('best')));
const rests = and(
  ge(sub(v('count'), v('since')), CHECK_EVERY),
  le(v('gain'), mul(v('unit'), v('total'))),
);
const isDone = (status: number): BoolExpr => eq(v('status'), status);
const checked = firstOf(
  [
    [failed, v('status')],
    [not(isFinite(real)), Status.notFinite],
    [le(truth, v('tolerance')), Status.converged],
    [isDone(Status.stagnated), Status.stagnated],
    [ge(v('count'), v('most')), Status.limit],
    [improves, Status.running],
    [rests, Status.stagnated],
    [le(v('next'), 0), Status.badPreconditioner],
  ],
  Status.running,
);
/** Of a column that goes on, where the recurrence has lost the true residual: by a factor of ten, or by taking it for small enough. */
const restarts = and(eq(checked, Status.running), or(not(runs), gt(truth, mul(10, v('norm')))));

/** What a true residual makes of each column. `norm2` is its square, `next` is r . P r of it. */
export const CHECK = {
  status: checked,
  figure: select(eq(checked, Status.badPreconditioner), v('next'), v('figure')),
  count: v('count'),
  norm: select(
    failed,
    v('norm'),
    select(and(eq(checked, Status.running), not(restarts)), v('norm'), truth),
  ),
  rz: select(restarts, v('next'), v('rz')),
  restarts: select(restarts, 1, 0),
  best: select(improves, truth, v('best')),
  since: select(improves, v('count'), v('since')),
  gain: select(improves, 0, v('gain')),
  total: v('total'),
};

/** The true residual and its direction, of columns that restart. */
export const RESTART = {
  r: select(eq(v('restarts'), 1), v('truth'), v('r')),
  p: select(eq(v('restarts'), 1), v('z'), v('p')),
};

/** Columns before the first step. */
export const BEGIN = {
  status: firstOf(
    [
      [not(isFinite(real)), Status.notFinite],
      [le(truth, v('tolerance')), Status.converged],
      [le(v('next'), 0), Status.badPreconditioner],
      [not(isFinite(v('next'))), Status.notFinite],
      [ge(0, v('most')), Status.limit],
    ],
    Status.running,
  ),
  figure: v('next'),
  count: constant(0),
  norm: truth,
  rz: v('next'),
  gain: constant(0),
  total: constant(0),
  best: truth,
  since: constant(0),
};

/** The norm of a right-hand side, and where a column is done. */
export const GOAL = {
  scale: sqrt(v('bb')),
  tolerance: select(
    gt(mul(v('rtol'), sqrt(v('bb'))), v('atol')),
    mul(v('rtol'), sqrt(v('bb'))),
    v('atol'),
  ),
};
