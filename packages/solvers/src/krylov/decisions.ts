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
import { CHECK_EVERY, Status } from './status.js';

/** What all methods decide of their columns, as formulas of the numbers of each. */

export type Real = RealExpr | number;
export type Formulas = Readonly<Record<string, Real>>;

export const v = (name: string): RealExpr => variable(name);

export const and = (a: BoolExpr, b: BoolExpr): BoolExpr => eq(select(a, select(b, 1, 0), 0), 1);

export const or = (a: BoolExpr, b: BoolExpr): BoolExpr => eq(select(a, 1, select(b, 1, 0)), 1);

export const not = (a: BoolExpr): BoolExpr => eq(select(a, 1, 0), 0);

export const isFinite = (x: Real): BoolExpr => le(abs(x), Number.MAX_VALUE);

export const hypot = (a: Real, b: Real): RealExpr => sqrt(add(mul(a, a), mul(b, b)));

/** The first value whose condition holds. */
export const firstOf = (cases: readonly (readonly [BoolExpr, Real])[], otherwise: Real): RealExpr =>
  cases.reduceRight<Real>(
    (rest, [condition, value]) => select(condition, value, rest),
    otherwise,
  ) as RealExpr;

export const larger = (a: Real, b: Real): RealExpr => select(gt(a, b), a, b);

/** A quotient; 0 where the divisor is 0. */
export const ratio = (a: Real, b: RealExpr): RealExpr => select(eq(b, 0), 0, div(a, b));

/** Values where a condition holds, and what they were where it does not. */
export const where = <F extends Formulas>(
  condition: BoolExpr,
  values: F,
): Readonly<Record<keyof F, RealExpr>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, one]) => [name, select(condition, one, v(name))]),
  ) as Readonly<Record<keyof F, RealExpr>>;

/** Of a column that goes on. */
export const runs = eq(v('status'), Status.running);
const failed = ge(v('status'), Status.indefinite);

/** Largest elements of columns that their squares, and products of two of them in float32, are far from the ends of numbers with. */
export const MODERATE = 2 ** 20;

/** What a right-hand side is divided by, of its largest element: 1 unless that is very large or small. */
const unit = select(
  and(
    and(gt(v('most'), 0), isFinite(v('most'))),
    or(gt(v('most'), MODERATE), lt(v('most'), 1 / MODERATE)),
  ),
  v('most'),
  1,
);

/** A right-hand side in these units. */
export const RIGHT_HAND_SIDE = div(v('b'), unit);

/** The unit, the norm of a right-hand side in it, and where a column is done. */
export const GOAL = {
  unit,
  scale: sqrt(v('bb')),
  tolerance: larger(mul(v('rtol'), sqrt(v('bb'))), div(v('atol'), unit)),
};

/** How a method sees the true residual of a column, `norm2` its square. */
interface Truth {
  /** Whether that is small enough. */
  readonly done: BoolExpr;
  /** The square of what has to fall. */
  readonly square: RealExpr;
  /** The energy `r . P r`, where the method has a preconditioner that must be positive. */
  readonly energy?: RealExpr;
}

export const RESIDUAL: Truth = {
  done: le(sqrt(v('norm2')), v('tolerance')),
  square: v('norm2'),
};

/** The residual that a preconditioner must find positive. */
export const ENERGY: Truth = { ...RESIDUAL, energy: v('next') };

/** Where columns stand before the first step. */
export const begun = ({ done, square, energy }: Truth) => ({
  status: firstOf(
    [
      [not(isFinite(v('norm2'))), Status.notFinite],
      [not(isFinite(square)), Status.notFinite],
      [done, Status.converged],
      ...(energy === undefined
        ? []
        : ([
            [le(energy, 0), Status.badPreconditioner],
            [not(isFinite(energy)), Status.notFinite],
          ] as const)),
      [ge(0, v('most')), Status.limit],
    ],
    Status.running,
  ),
  figure: energy ?? constant(0),
  count: constant(0),
  norm: sqrt(v('norm2')),
  best: sqrt(square),
  since: constant(0),
});

/**
 * What a true residual makes of columns. A column goes on from it where the recurrence has lost it: by a factor of ten, or by taking it for small
 * enough. It has stagnated where it has not fallen by a tenth in 50 iterations, and `rests`.
 *
 * @param carried what the recurrence takes the norm that has to fall for
 * @param ends where nothing can be gained any more, however short it has not fallen
 */
export const checked = (
  { done, square, energy }: Truth,
  {
    carried,
    rests,
    ends,
  }: { readonly carried: RealExpr; readonly rests: BoolExpr; readonly ends?: BoolExpr },
) => {
  const truth = sqrt(square);
  const improves = lt(truth, mul(0.9, v('best')));
  const isLong = ge(sub(v('count'), v('since')), CHECK_EVERY);
  const status = firstOf(
    [
      [failed, v('status')],
      [not(isFinite(v('norm2'))), Status.notFinite],
      [not(isFinite(square)), Status.notFinite],
      [done, Status.converged],
      [eq(v('status'), Status.stagnated), Status.stagnated],
      [ge(v('count'), v('most')), Status.limit],
      ...(ends === undefined ? [] : ([[ends, Status.stagnated]] as const)),
      [improves, Status.running],
      [and(isLong, rests), Status.stagnated],
      ...(energy === undefined ? [] : ([[le(energy, 0), Status.badPreconditioner]] as const)),
    ],
    Status.running,
  );
  const restarts = and(eq(status, Status.running), or(not(runs), gt(truth, mul(10, carried))));
  /** What the recurrence says is kept of columns that go on with it, and of those that failed. */
  const keeps = or(failed, and(eq(status, Status.running), not(restarts)));
  return {
    improves,
    restarts,
    keeps,
    columns: {
      status,
      figure:
        energy === undefined
          ? v('figure')
          : select(eq(status, Status.badPreconditioner), energy, v('figure')),
      count: v('count'),
      norm: select(keeps, v('norm'), sqrt(v('norm2'))),
      restarts: select(restarts, 1, 0),
      best: select(improves, truth, v('best')),
      since: select(improves, v('count'), v('since')),
    },
  };
};

/**
 * Whether a column rests whose recurrence tells of each step how far the residual falls: it says that it fell to a half, and it has not; or it says itself
 * that it fell by less than a thousandth.
 */
export const recurrenceRests = (truth: RealExpr, carried: RealExpr): BoolExpr =>
  or(le(carried, mul(0.5, truth)), ge(carried, mul(0.999, v('best'))));

/** What a step makes of a column's status; cases of a method come before and after that the residual is small enough. */
export const statusAfter = (
  failures: readonly (readonly [BoolExpr, Real])[],
  done: BoolExpr,
  ends: readonly (readonly [BoolExpr, Real])[] = [],
): RealExpr =>
  firstOf(
    [
      ...failures,
      [done, Status.converged],
      ...ends,
      [ge(add(v('count'), 1), v('most')), Status.limit],
    ],
    Status.running,
  );
