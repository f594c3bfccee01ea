import {
  add,
  constant,
  div,
  gt,
  lt,
  mul,
  pow,
  select,
  sqrt,
  sub,
  substitute,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { IS_REFRESHED } from './by-hand.js';
import { keeping } from './gradients.js';
import type { Grafting, ShampooSettings } from './shampoo-options.js';

const v = variable;
const t = v('t');

/** 1 / (1 - beta^t) where there is a mean to be corrected. */
const unbiased = (beta: number, name: string, count: RealExpr): RealExpr =>
  beta === 1 ? constant(1) : select(lt(0, count), div(1, sub(1, pow(v(name), count))), 1);

/** By what becomes of which. */
export type Formulas = Readonly<Record<string, RealExpr>>;

/** Numbers of a step, of the count t. */
export const numbersOf = ({ beta1, grafting, graftingBeta, frequency }: ShampooSettings) => ({
  rate: v('lr'),
  // one mean of means: the last gradient has the share 1 - beta3
  unbias: beta1 === 0 ? constant(1) : div(1, sub(1, mul(v('beta3'), pow(v('beta1'), sub(t, 1))))),
  unbiasGraft: grafting === 'adam' ? unbiased(graftingBeta, 'graftingBeta', t) : constant(1),
  isRefreshed: frequency === 'manual' ? IS_REFRESHED : constant(1),
});

/** The gradient `g` and the filtered one `u`, which lacks `unbias`: what the directions of a step begin with. */
export const beginnings = ({ beta1 }: ShampooSettings): Formulas => ({
  g: v('g'),
  ...(beta1 > 0 && { u: MIXED }),
});

const MIXED = add(mul(v('beta3'), v('filtered')), mul(sub(1, v('beta3')), v('g')));

/** A filtered gradient with what it lacks. */
const unbiasedBy = ({ beta1 }: ShampooSettings, u: RealExpr): RealExpr =>
  beta1 === 0 ? u : mul(v('unbias'), u);

/** What becomes of means, and the direction `d` of the grafted step where it is not the filtered gradient. */
export function filters(given: ShampooSettings): Formulas {
  const { beta1, grafting } = given;
  const g = v('g');
  const u = unbiasedBy(given, beta1 === 0 ? g : MIXED);
  const square = mul(g, g);
  const squares =
    grafting === 'adagrad'
      ? add(v('graft'), square)
      : add(mul(v('graftingBeta'), v('graft')), mul(sub(1, v('graftingBeta')), square));
  const length = add(sqrt(mul(squares, v('unbiasGraft'))), v('graftingEps'));
  const kept = keeping({
    ...(beta1 > 0 && { filtered: add(mul(v('beta1'), v('filtered')), mul(sub(1, v('beta1')), g)) }),
    ...(hasSquares(grafting) && { graft: squares }),
  });
  return { ...kept, ...(hasSquares(grafting) && { d: div(u, length) }) };
}

/** Whether a step is divided by the root of a mean or a sum of squares. */
export const hasSquares = (grafting: Grafting): boolean =>
  grafting !== 'none' && grafting !== 'sgd';

/** What becomes of a parameter along a direction. */
export interface Moves {
  /** The direction is `turned`. */
  readonly turned: Formulas;
  /** It is the grafted step, `like`. */
  readonly like: Formulas;
  /** It is `turned`, with the length of `like`: `own` and `wanted` are the squared norms of their blocks. Until there was a refresh it is `like` itself. */
  readonly grafted: Formulas;
}

export function moves(given: ShampooSettings): Moves {
  const { momentum, nesterov, weightDecay, decay, grafting } = given;
  const isInStep = weightDecay > 0 && decay !== 'l2';
  const share =
    decay === 'corrected'
      ? mul(v('weightDecay'), div(v('rate'), v('peakLr')))
      : decay === 'independent'
        ? div(v('weightDecay'), v('peakLr'))
        : v('weightDecay');
  const along = isInStep ? add(v('a'), mul(share, v('p'))) : v('a');
  const next = add(mul(v('momentum'), v('m')), mul(sub(1, v('dampening')), along));
  const step = momentum === 0 ? along : nesterov ? add(along, mul(v('momentum'), next)) : next;
  const plain = { p: sub(v('p'), mul(v('rate'), step)), ...(momentum > 0 && { m: next }) };
  const alongIt = (a: RealExpr): Formulas =>
    Object.fromEntries(Object.entries(plain).map(([name, one]) => [name, substitute(one, { a })]));
  const ofStep = (x: RealExpr): RealExpr => unbiasedBy(given, x);
  const ofLike = hasSquares(grafting) ? (x: RealExpr): RealExpr => x : ofStep;
  const [turned, like] = [ofStep(v('turned')), ofLike(v('like'))];
  const [own, wanted] = [ofStep(sqrt(v('own'))), ofLike(sqrt(v('wanted')))];
  // blocks with the lengths of others; the others themselves until there was a refresh
  const grafted = select(gt(v('isRefreshed'), 0), mul(turned, div(wanted, add(own, 1e-16))), like);
  return { turned: alongIt(turned), like: alongIt(like), grafted: alongIt(grafted) };
}

/** What factors are multiplied by, of the count of steps that they are of. */
export const CORRECTION = unbiased(0, 'beta2', v('count'));
