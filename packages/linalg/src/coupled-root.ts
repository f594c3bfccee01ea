import {
  abs,
  add,
  div,
  eq,
  exp,
  le,
  log,
  lt,
  min,
  mul,
  select,
  sqrt,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { addSumTo, type CallStep, type CallView } from '@mercer/tensor/operation';
import { LARGEST, type LinalgDType } from './checks.js';
import { elementwise, product, scratch } from './compose.js';
import type { Composed } from './run-routine.js';
import { batchOf, turned } from './views.js';

/*
 * Inverse roots by products, in launches that are all enqueued at once: what is decided on the way, the device decides.
 */

/** What an inverse root is computed from, and where it goes. */
export interface CoupledRoot {
  /** (..., n, n) */
  readonly a: CallView;
  readonly upper: boolean;
  readonly ridge: number;
  /** The k of `(a + ridge I)^(-1/k)`. */
  readonly root: number;
  /** Terms of the binomial series that a step takes: 2 is Newton's iteration. */
  readonly terms: 2 | 3;
  /** Steps that are enqueued. */
  readonly steps: number;
  readonly result: CallView;
  /** (...) */
  readonly errors: CallView;
  /** (...), int32 */
  readonly infos: CallView;
}

/** What |M - I| has to come down to. */
const ACCEPTED = 0.1;

/** Steps that come to the least eigenvalue which the dtype tells from rounding, and then to its last digit. */
export const STEPS: { readonly [D in LinalgDType]: number } = { float32: 30, float64: 50 };

const [row, column] = [variable('row'), variable('column')];
const onDiagonal = (there: RealExpr | number, elsewhere: RealExpr | number): RealExpr =>
  select(eq(row, column), there, elsewhere);

const v = variable;
const LOWER = add(select(le(column, row), v('a'), v('b')), onDiagonal(v('ridge'), 0));
const NOT_FINITE = select(le(abs(v('m')), v('largest')), 0, 1);
const DIAGONAL = onDiagonal(v('m'), 0);
const RELATIVE = div(v('m'), v('trace'));
const SQUARE = mul(RELATIVE, RELATIVE);
// what has no positive trace has no root, and goes through the steps as it is
const SCALE = select(lt(0, v('trace')), div(v('scale'), mul(v('trace'), sqrt(v('squares')))), 1);
const START = onDiagonal(exp(div(log(v('w')), v('root'))), 0);
const SCALED = mul(v('m'), v('w'));
/** (1 - r)^(-1/k) to two terms, and to three, in m = I - r. */
const TWO = sub(onDiagonal(add(1, v('first')), 0), mul(v('first'), v('m')));
const THREE = add(
  sub(
    onDiagonal(add(1, add(v('first'), v('second'))), 0),
    mul(add(v('first'), mul(2, v('second'))), v('m')),
  ),
  mul(v('second'), v('squared')),
);
const OFF = sub(v('m'), onDiagonal(1, 0));
const OFF_SQUARED = mul(OFF, OFF);
const isBetter = lt(v('square'), v('least'));
const isOpen = eq(v('done'), 0);
const BEST = select(isOpen, select(isBetter, v('x'), v('best')), v('best'));
// The first steps may lead away from the identity; near it every one must pay.
const DONE = select(isBetter, v('done'), select(lt(v('least'), 0.25), 1, v('done')));
const LEAST = select(isOpen, select(isBetter, v('square'), v('least')), v('least'));
const INFO = select(lt(0, v('bad')), -1, select(lt(v('least'), ACCEPTED ** 2), 0, -2));
const ERROR = select(lt(v('bad'), 1), min(sqrt(v('least')), v('largest')), NaN);
const RESULT = select(eq(v('info'), 0), v('best'), NaN);

/**
 * `(a + ridge I)^(-1/k)` by a coupled iteration, products only: x <- x t, m <- t^k m from x = w^(1/k) I, m = w a, where t is the start of the
 * binomial series of m^(-1/k) about I. Two terms are Newton's iteration (Guo and Higham, 2006), three have one product more a step and
 * need fewer steps. A step whose m is nearer to I than all before is kept; the first that is not, near I, ends the iteration of its matrix: what follows
 * changes nothing.
 */
export function coupledRoot(call: Composed, what: CoupledRoot): void {
  const { steps: launches, setting } = call;
  const { a, root, terms, steps, result, errors, infos } = what;
  const { shape } = a;
  const n = shape.at(-1) ?? 0;
  if (n === 0) {
    launches.fill(errors, 0n);
    launches.fill(infos, 0n);
    return;
  }
  const one = [...batchOf(a), 1, 1];
  const matrix = (): CallView => scratch(call, shape);
  const number = (): CallView => scratch(call, one);
  const sum = (from: CallView, into = number()): CallView => {
    addSumTo(launches, from, one, into);
    return into;
  };
  const [whole, spare, x, best] = [matrix(), matrix(), matrix(), matrix()];
  let buffers: Buffers = {
    m: whole,
    spareM: matrix(),
    x,
    spareX: matrix(),
    t: matrix(),
    squared: matrix(),
  };
  const [given, mirrored] = what.upper ? [turned(a), a] : [a, turned(a)];
  elementwise(
    call,
    LOWER,
    { a: given, b: mirrored },
    { into: whole, parameters: { ridge: what.ridge } },
  );
  const largest = LARGEST[setting.dtype];
  const { spareM, spareX } = buffers;
  elementwise(call, NOT_FINITE, { m: whole }, { into: spareX, parameters: { largest } });
  const bad = sum(spareX);
  elementwise(call, DIAGONAL, { m: whole }, { into: spareM });
  const trace = sum(spareM);
  elementwise(call, SQUARE, { m: whole, trace }, { into: spare });
  const scale = terms === 2 ? (1 + root) / 2 : 1;
  const w = elementwise(call, SCALE, { trace, squares: sum(spare) }, { parameters: { scale } });
  elementwise(call, SCALED, { m: whole, w }, { into: whole });
  elementwise(call, START, { w }, { into: x, parameters: { root } });
  const [square, least, done] = [number(), number(), number()];
  launches.fill(done, 0n);
  elementwise(
    call,
    v('infinite'),
    { least: done },
    { into: least, parameters: { infinite: Infinity } },
  );
  const first = 1 / root;
  const series = { first, second: (first * (1 + first)) / 2 };
  const measure = (): void => {
    elementwise(call, OFF_SQUARED, { m: buffers.m }, { into: spare });
    sum(spare, square);
    const progress = { square, least, done };
    elementwise(call, BEST, { ...progress, x: buffers.x, best }, { into: best });
    elementwise(call, DONE, progress, { into: done });
    elementwise(call, LEAST, progress, { into: least });
  };
  measure();
  // buffers come round after a few steps: what is enqueued for them is planned once
  const planned = new Map<
    string,
    { readonly launched: readonly CallStep[]; readonly to: Buffers }
  >();
  for (let step = 0; step < steps; step++) {
    const key = Object.values(buffers)
      .map(({ place }: CallView) => place)
      .join();
    const known = planned.get(key);
    if (known === undefined) {
      const [to, launched] = launches.recorded(() => {
        buffers = advanced(call, buffers, root, terms, series);
        measure();
        return buffers;
      });
      planned.set(key, { launched, to });
    } else {
      for (const one of known.launched) launches.add(one);
      buffers = known.to;
    }
  }
  const told = { bad: summary(bad), least: summary(least) };
  const parameters = { largest };
  elementwise(call, INFO, told, { into: infos });
  elementwise(call, ERROR, told, { into: errors, parameters });
  const info = { ...infos, shape: one, strides: [...infos.strides, 1, 1] };
  elementwise(call, RESULT, { info, best }, { into: result });
}

interface Buffers {
  readonly m: CallView;
  readonly spareM: CallView;
  readonly x: CallView;
  readonly spareX: CallView;
  readonly t: CallView;
  readonly squared: CallView;
}

/** One step. It overwrites what was spare or a power of t, and not what the step before is measured by: captured work measures it beside this step. */
function advanced(
  call: Composed,
  { m, spareM, x, spareX, t, squared }: Buffers,
  root: number,
  terms: 2 | 3,
  series: Readonly<Record<'first' | 'second', number>>,
): Buffers {
  if (terms === 2) {
    elementwise(call, TWO, { m }, { into: t, parameters: { first: series.first } });
  } else {
    product(call, m, m, { into: squared });
    elementwise(call, THREE, { m, squared }, { into: t, parameters: series });
  }
  product(call, x, t, { into: spareX });
  let now: Buffers = { m, spareM, x: spareX, spareX: x, t, squared };
  // t^root m by squares of t
  for (let left = root; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) {
      product(call, now.t, now.m, { into: now.spareM });
      now = { ...now, m: now.spareM, spareM: now.m };
    }
    if (left > 1) {
      product(call, now.t, now.t, { into: now.squared });
      now = { ...now, t: now.squared, squared: now.t };
    }
  }
  return now;
}

/** (..., 1, 1) as (...). */
const summary = (view: CallView): CallView => ({
  ...view,
  shape: batchOf(view),
  strides: view.strides.slice(0, -2),
});
