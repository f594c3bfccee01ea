import {
  abs,
  add,
  constant,
  eq,
  le,
  mul,
  neg,
  select,
  sqrt,
  sub,
  type BoolExpr,
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
  or,
  ratio,
  recurrenceRests,
  runs,
  statusAfter,
  v,
  where,
  type Formulas,
} from './decisions.js';
import { Status } from './status.js';

/** What a method makes of the bidiagonal matrix, beside what all make of it. */
export interface LeastSquaresFormulas {
  /** The numbers of a column after a step, of columns that run. */
  readonly rotation: Formulas;
  /** The norms of the residual and of `A^T r` after it. */
  readonly norm: RealExpr;
  readonly normal: RealExpr;
  /** What the vectors of a step need, for that step alone. */
  readonly passing: Formulas;
  /** The vectors after it, x among them. */
  readonly step: Formulas;
  /** The numbers and the vectors that begin at a residual, and the numbers of a column whose least true one falls. */
  readonly numbers: Formulas;
  readonly renewed: Formulas;
  readonly vectors: Formulas;
  /** Whether a column rests. */
  readonly rests: BoolExpr;
}

/** `A v - alpha u`, with `t` the `beta u` of the step before. */
export const LEFT = sub(v('av'), mul(v('alpha'), ratio(v('t'), v('beta'))));

/** `A^T u - beta v`. */
const beta = sqrt(v('tt'));
export const RIGHT = sub(ratio(v('at'), beta), mul(beta, v('v')));

const alpha = sqrt(v('yy'));
const normal = sqrt(v('normal2'));
const norm = sqrt(v('norm2'));
/** The first alpha and the first v of a residual, `s` its `A^T r`. */
const first = ratio(normal, norm);
const begins = ratio(v('s'), normal);

/** The next v. */
const next = ratio(v('y'), v('alpha'));

/** Whether a residual is small enough, or orthogonal enough to the range. */
const isDone = (one: RealExpr, other: RealExpr, anorm: RealExpr): BoolExpr =>
  or(le(one, v('tolerance')), le(other, mul(mul(v('rtol'), anorm), one)));

/** The left vector of columns that restart. */
export const RESTART_LEFT = where(eq(v('restarts'), 1), { t: v('truth') });

/** All formulas of a method. The bidiagonal matrix has `alpha` on its diagonal and `beta` below; `anorm` is the largest norm of one of its rows, at most that of A. */
export function leastSquares(method: LeastSquaresFormulas) {
  const anorm = larger(v('anorm'), hypot(alpha, beta));
  const status = statusAfter(
    [[not(and(isFinite(v('tt')), isFinite(v('yy')))), Status.notFinite]],
    or(
      isDone(method.norm, method.normal, anorm),
      le(method.normal, mul(mul(v('unit'), anorm), method.norm)),
    ),
  );
  const truth = { done: isDone(norm, normal, v('anorm')), square: v('normal2') };
  const begin = begun({ done: isDone(norm, normal, first), square: v('normal2') });
  const fresh = { beta: norm, alpha: first, normal, ...method.numbers };
  const { restarts, improves, columns } = checked(truth, {
    carried: v('normal'),
    rests: method.rests,
    // the rounding of r alone is as large
    ends: le(normal, mul(mul(mul(8, v('unit')), v('anorm')), norm)),
  });
  const vectors = { v: begins, ...method.vectors };
  return {
    ROTATION: {
      ...where(runs, {
        status,
        count: add(v('count'), 1),
        norm: method.norm,
        normal: method.normal,
        anorm,
        alpha,
        beta,
        ...method.rotation,
      }),
      figure: v('figure'),
      best: v('best'),
      since: v('since'),
      moves: select(runs, 1, 0),
      ...method.passing,
    },
    STEP: where(eq(v('moves'), 1), { v: next, ...method.step }),
    BEGIN: { ...begin, ...fresh, anorm: first },
    CHECK: {
      ...columns,
      ...where(restarts, fresh),
      ...where(or(restarts, improves), method.renewed),
      anorm: v('anorm'),
      figure: ratio(normal, mul(v('anorm'), norm)),
    },
    VECTORS: vectors,
    RESTART: where(eq(v('restarts'), 1), vectors),
  };
}

/** A rotation of a to the norm of both. */
const rotated = (a: RealExpr, b: RealExpr) => {
  const rho = hypot(a, b);
  return { cosine: ratio(a, rho), sine: ratio(b, rho), rho };
};

const lsqr = rotated(v('rhobar'), beta);
const phi = mul(lsqr.cosine, v('phibar'));
const phibar = mul(lsqr.sine, v('phibar'));

/** LSQR (Paige and Saunders 1982). `gain` is how much the square of the residual's norm has fallen since the least `A^T r`. */
export const LSQR = leastSquares({
  rotation: {
    rhobar: neg(mul(lsqr.cosine, alpha)),
    phibar,
    gain: add(v('gain'), mul(phi, phi)),
  },
  norm: abs(phibar),
  normal: abs(mul(phibar, mul(alpha, lsqr.cosine))),
  passing: { along: ratio(phi, lsqr.rho), back: ratio(mul(lsqr.sine, alpha), lsqr.rho) },
  step: {
    x: add(v('x'), mul(v('along'), v('w'))),
    w: sub(next, mul(v('back'), v('w'))),
  },
  numbers: { rhobar: first, phibar: norm, gain: constant(0) },
  renewed: { gain: constant(0) },
  vectors: { w: begins },
  rests: or(le(v('normal'), mul(0.5, normal)), le(v('gain'), mul(v('unit'), v('norm2')))),
});

// The names are those of Fong and Saunders (2011), algorithm LSMR, without damping.
const forth = rotated(v('alphabar'), beta);
const theta = mul(forth.sine, alpha);
const thetabar = mul(v('sbar'), forth.rho);
const back = rotated(mul(v('cbar'), forth.rho), theta);
const zeta = mul(back.cosine, v('zetabar'));
const zetabar = neg(mul(back.sine, v('zetabar')));
const betahat = mul(forth.cosine, v('betadd'));
const betadd = neg(mul(forth.sine, v('betadd')));
const tilde = rotated(v('rhodold'), thetabar);
const thetatilde = mul(tilde.sine, back.rho);
const rhodold = mul(tilde.cosine, back.rho);
const betad = add(neg(mul(tilde.sine, v('betad'))), mul(tilde.cosine, betahat));
const tautilde = ratio(sub(v('zeta'), mul(v('thetatilde'), v('tautilde'))), tilde.rho);
const taud = ratio(sub(zeta, mul(thetatilde, tautilde)), rhodold);
const hbar = sub(v('h'), mul(v('turn'), v('hbar')));

/** LSMR (Fong and Saunders 2011): the norm of `A^T r` falls in every step. */
export const LSMR = leastSquares({
  rotation: {
    alphabar: mul(forth.cosine, alpha),
    rho: forth.rho,
    rhobar: back.rho,
    cbar: back.cosine,
    sbar: back.sine,
    zeta,
    zetabar,
    betadd,
    betad,
    rhodold,
    tautilde,
    thetatilde,
  },
  norm: hypot(sub(betad, taud), betadd),
  normal: abs(zetabar),
  passing: {
    turn: ratio(mul(thetabar, forth.rho), mul(v('rho'), v('rhobar'))),
    along: ratio(zeta, mul(forth.rho, back.rho)),
    back: ratio(theta, forth.rho),
  },
  step: {
    x: add(v('x'), mul(v('along'), hbar)),
    hbar,
    h: sub(next, mul(v('back'), v('h'))),
  },
  numbers: {
    alphabar: first,
    rho: constant(1),
    rhobar: constant(1),
    cbar: constant(1),
    sbar: constant(0),
    zeta: constant(0),
    zetabar: normal,
    betadd: norm,
    betad: constant(0),
    rhodold: constant(1),
    tautilde: constant(0),
    thetatilde: constant(0),
  },
  renewed: {},
  vectors: { h: begins, hbar: constant(0) },
  rests: recurrenceRests(normal, v('normal')),
});
