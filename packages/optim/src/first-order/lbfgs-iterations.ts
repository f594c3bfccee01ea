import { add, mul, variable } from '@mercer/formula';
import { map, type Tensor } from '@mercer/tensor';
import type { History } from './lbfgs-history.js';
import { strongWolfe, type LinePoint } from './strong-wolfe.js';

/** What the iterations take of the options. */
export interface IterationSettings {
  readonly lr: number;
  readonly maxIterations: number;
  readonly maxEvaluations: number;
  readonly history: number;
  readonly toleranceGrad: number;
  readonly toleranceChange: number;
  readonly lineSearch: 'strongWolfe' | 'none';
}

const ALONG = add(variable('x'), mul(variable('t'), variable('d')));

/** A point with the loss and its gradient. */
export interface LossPoint {
  readonly value: number;
  readonly grad: Tensor;
}

/** The largest size of an element. */
export async function largestOf(one: Tensor): Promise<number> {
  if (one.size === 0) return 0;
  using most = await one.abs().max();
  return Number(await most.item());
}

async function taxicabOf(one: Tensor): Promise<number> {
  using sum = await one.abs().sum();
  return Number(await sum.item());
}

/**
 * Iterates from a point, where loss and gradient are finite.
 *
 * @param history owns the vectors that are made
 * @param first loss and gradient at `start`
 * @returns where it ends, and what was not finite behind it
 */
export async function iterate(
  settings: IterationSettings,
  history: History,
  start: Tensor,
  first: LossPoint,
  evaluate: (point: Tensor) => Promise<LossPoint>,
): Promise<{ readonly point: Tensor; readonly notFinite?: string }> {
  const { lr, maxIterations, maxEvaluations, toleranceGrad, toleranceChange, lineSearch } =
    settings;
  let [point, { grad, value: loss }] = [start, first];
  let evaluations = 1;
  for (let iteration = 1; ; iteration++) {
    const slope = await history.turn(grad);
    const { direction } = history;
    history.t = history.iterations === 1 ? Math.min(1, 1 / (await taxicabOf(grad))) * lr : lr;
    if (!(slope <= -toleranceChange)) return { point };
    const from = point;
    /** The iteration was none: the next call begins with the same one. */
    const back = (notFinite: string): { point: Tensor; notFinite: string } => {
      history.t = 0;
      history.iterations--;
      return { point: from, notFinite };
    };
    const moved = async (t: number): Promise<Tensor> =>
      map(ALONG, { x: from, d: direction }, { parameters: { t }, dtype: from.dtype });
    const at = async (t: number): Promise<LinePoint> => {
      using to = await moved(t);
      const found = await evaluate(to);
      // the search disposes of them at once, and the history where it could not
      history.owned(found.grad);
      return { t, ...found, slope: await history.dot(found.grad, direction) };
    };
    const before = loss;
    const isLast = iteration === maxIterations;
    if (lineSearch === 'none' && isLast) {
      point = history.owned(await moved(history.t));
      const far = await largestOf(point);
      return Number.isFinite(far) ? { point } : back(`a step of ${history.t} is infinite`);
    }
    const size = await largestOf(direction);
    if (lineSearch === 'strongWolfe') {
      const searched = await strongWolfe({
        at,
        start: { t: 0, value: loss, slope, grad },
        t: history.t,
        size,
        toleranceChange,
      });
      evaluations += searched.evaluations;
      history.t = searched.point.t;
      loss = searched.point.value;
      grad = searched.point.grad;
    }
    point = history.owned(await moved(history.t));
    if (lineSearch === 'none') {
      const found = await evaluate(point);
      evaluations++;
      loss = found.value;
      grad = history.owned(found.grad);
    }
    const largest = await largestOf(grad);
    if (!Number.isFinite(loss) || !Number.isFinite(largest)) {
      return back(
        `the loss is ${loss} and the largest element of the gradient ${largest} after a step of ${history.t}`,
      );
    }
    if (isLast || evaluations >= maxEvaluations || largest <= toleranceGrad) return { point };
    if (size * history.t <= toleranceChange || Math.abs(loss - before) < toleranceChange)
      return { point };
    history.dropped(from);
  }
}
