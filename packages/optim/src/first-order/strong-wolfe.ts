import type { Tensor } from '@mercer/tensor';

/** A function along a line, at one step. */
export interface LinePoint {
  readonly t: number;
  readonly value: number;
  /** The derivative by t. */
  readonly slope: number;
  readonly grad: Tensor;
}

/** What {@link strongWolfe} goes by. */
export interface LineSearch {
  readonly at: (t: number) => Promise<LinePoint>;
  /** At t = 0. */
  readonly start: LinePoint;
  /** The first step that is tried. */
  readonly t: number;
  /** The largest element of the direction. */
  readonly size: number;
  /** A bracket that moves no element by more is not divided. */
  readonly toleranceChange: number;
}

/** What a search has found. */
export interface LineSearched {
  readonly point: LinePoint;
  readonly evaluations: number;
}

/** Constants of the conditions: enough decrease, and a slope that is small enough. */
const [C1, C2] = [1e-4, 0.9];
/** Evaluations behind the first. */
const MOST = 25;

/**
 * A step that fulfils the strong Wolfe conditions (Nocedal and Wright 2006, algorithms 3.5 and 3.6), by cubic interpolation; the best of those that were tried where there
 * is none in 25 evaluations. A value that is not finite counts as one that is too large. Points that are not given back are disposed.
 */
export async function strongWolfe({
  at,
  start,
  t,
  size,
  toleranceChange,
}: LineSearch): Promise<LineSearched> {
  const made: LinePoint[] = [];
  const point = async (to: number): Promise<LinePoint> => {
    const one = await at(to);
    made.push(one);
    return one;
  };
  const rises = ({ t: to, value }: LinePoint): boolean =>
    !(value <= start.value + C1 * to * start.slope);
  const isFlat = ({ slope }: LinePoint): boolean => Math.abs(slope) <= -C2 * start.slope;
  const found = async (): Promise<{ point: LinePoint; tries: number }> => {
    let before = start;
    let now = await point(t);
    let tries = 0;
    let bracket: [LinePoint, LinePoint] | undefined;
    while (tries < MOST) {
      if (rises(now) || (tries > 1 && now.value >= before.value)) {
        bracket = [before, now];
        break;
      }
      if (isFlat(now)) return { point: now, tries };
      if (now.slope >= 0) {
        bracket = [before, now];
        break;
      }
      const to = cubicMinimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
      before = now;
      now = await point(to);
      tries++;
    }
    bracket ??= [start, now];
    return zoomed(bracket, tries);
  };
  const zoomed = async (
    [first, second]: [LinePoint, LinePoint],
    before: number,
  ): Promise<{ point: LinePoint; tries: number }> => {
    let tries = before;
    let [low, high] = inOrder(first, second);
    let wasNear = false;
    while (tries < MOST && Math.abs(high.t - low.t) * size >= toleranceChange) {
      const [least, most] = [Math.min(low.t, high.t), Math.max(low.t, high.t)];
      let to = cubicMinimum(low, high, least, most);
      // near an end of the bracket a second time: a tenth inside it
      const margin = 0.1 * (most - least);
      const isNear = Math.min(most - to, to - least) < margin;
      if (isNear && (wasNear || to >= most || to <= least)) {
        to = Math.abs(to - most) < Math.abs(to - least) ? most - margin : least + margin;
        wasNear = false;
      } else wasNear = isNear;
      const now = await point(to);
      tries++;
      if (rises(now) || now.value >= low.value) {
        [low, high] = inOrder(low, now);
      } else {
        if (isFlat(now)) return { point: now, tries };
        if (now.slope * (high.t - low.t) >= 0) high = low;
        low = now;
      }
    }
    return { point: low, tries };
  };
  let kept: LinePoint | undefined;
  try {
    const { point: best, tries } = await found();
    kept = best;
    return { point: best, evaluations: tries + 1 };
  } finally {
    for (const one of made) if (one !== kept) one.grad.dispose();
  }
}

/** Of two points the lower, and the other. */
const inOrder = (a: LinePoint, b: LinePoint): [LinePoint, LinePoint] =>
  a.value <= b.value || !(b.value <= a.value) ? [a, b] : [b, a];

/** Where the cubic through two points with these slopes is least (Nocedal and Wright, 3.59), within bounds; their middle where it has no minimum. */
function cubicMinimum(a: LinePoint, b: LinePoint, least: number, most: number): number {
  const [left, right] = a.t <= b.t ? [a, b] : [b, a];
  const d1 = left.slope + right.slope - (3 * (left.value - right.value)) / (left.t - right.t);
  const square = d1 * d1 - left.slope * right.slope;
  const d2 = Math.sqrt(square);
  const at =
    right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  if (!Number.isFinite(at)) return (least + most) / 2;
  return Math.min(Math.max(at, least), most);
}
