/** A step, the change of the gradient along it, and inner products with older ones. */
export interface Pair<V> {
  /** The step is `t` times this. */
  readonly direction: V;
  readonly t: number;
  readonly change: V;
  /** Inner products of the change with the directions of the pairs up to this one, the oldest first. */
  readonly withDirections: number[];
  /** The same with their changes. */
  readonly withChanges: number[];
}

/** Inner products with the vectors of a pair, or what these are multiplied by. */
export interface PairNumbers {
  readonly direction: number;
  readonly change: number;
}

/** A sum of a gradient and the vectors of pairs. */
export interface Combination {
  readonly gradient: number;
  readonly pairs: readonly PairNumbers[];
}

/**
 * What the two-loop recursion (Nocedal and Wright 2006, algorithm 7.4) makes of a gradient, less its sign, from inner products alone: each vector in it is a sum of the gradient, the
 * directions and the changes (Chen, Wang and Zhou 2014). The first guess of the inverse Hessian is their (7.20), without a pair 1.
 *
 * @param pairs the oldest first
 * @param along inner products of the gradient with each
 */
export function downhill(
  pairs: readonly Pair<unknown>[],
  along: readonly PairNumbers[],
): Combination {
  const last = pairs.length - 1;
  const stepChange = (i: number, j: number): number =>
    (pairs[i]?.t ?? NaN) * (pairs[j]?.withDirections[i] ?? NaN);
  const changeChange = (i: number, j: number): number =>
    pairs[Math.max(i, j)]?.withChanges[Math.min(i, j)] ?? NaN;
  const ofChanges: number[] = [];
  const ofSteps: number[] = [];
  for (let i = last; i >= 0; i--) {
    let product = (pairs[i]?.t ?? NaN) * (along[i]?.direction ?? NaN);
    for (let j = i + 1; j <= last; j++) product -= (ofChanges[j] ?? NaN) * stepChange(i, j);
    ofChanges[i] = product / stepChange(i, i);
  }
  const scale = last < 0 ? 1 : stepChange(last, last) / changeChange(last, last);
  for (let i = 0; i <= last; i++) {
    let product = along[i]?.change ?? NaN;
    for (let j = 0; j <= last; j++) product -= (ofChanges[j] ?? NaN) * changeChange(i, j);
    product *= scale;
    for (let j = 0; j < i; j++) product += (ofSteps[j] ?? NaN) * stepChange(j, i);
    ofSteps[i] = (ofChanges[i] ?? NaN) - product / stepChange(i, i);
  }
  return {
    gradient: -scale,
    pairs: pairs.map(({ t }, i) => ({
      direction: -t * (ofSteps[i] ?? NaN),
      change: scale * (ofChanges[i] ?? NaN),
    })),
  };
}

/** The inner product of a combination with its gradient. @param square of the gradient */
export const slopeOf = (
  { gradient, pairs }: Combination,
  along: readonly PairNumbers[],
  square: number,
): number =>
  pairs.reduce(
    (sum, { direction, change }, i) =>
      sum + direction * (along[i]?.direction ?? NaN) + change * (along[i]?.change ?? NaN),
    gradient * square,
  );

/** Forgets the oldest pair. */
export function forgetOldest<V>(pairs: Pair<V>[]): Pair<V> | undefined {
  for (const { withDirections, withChanges } of pairs) {
    withDirections.shift();
    withChanges.shift();
  }
  return pairs.shift();
}
