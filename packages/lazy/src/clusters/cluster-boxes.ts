import { concat, full, type Scope, type WorkOptions } from '@mercer/tensor';
import { lazyI, lazyJ } from '../make-lazy.js';
import type { LazyTensor } from '../lazy-tensor.js';
import type { Points } from './cluster-data.js';

/** The least and the largest coordinates of each cluster, (clusters, D). */
export interface Boxes {
  readonly low: Points;
  readonly high: Points;
}

/** The boxes of clusters of so many rows each, of sorted points. */
export async function boxesOf(
  s: Scope,
  sorted: Points,
  rows: number,
  work: WorkOptions,
): Promise<Boxes> {
  const [count = 0, dim = 1] = sorted.shape;
  const clusters = Math.ceil(count / rows);
  const more = clusters * rows - count;
  const last = more > 0 ? s.track(sorted.slice([count - 1])) : undefined;
  const whole =
    last === undefined
      ? sorted
      : s.track(await concat([sorted, s.track(last.broadcastTo([more, dim]))], 0, work));
  const split = s.track(whole.reshape([clusters, rows, dim]));
  return {
    low: s.track((await split.min(1, work)) as Points),
    high: s.track((await split.max(1, work)) as Points),
  };
}

/** 1 where boxes of i and of j are at most as far apart as the square root of `squared`. */
export function boxesMeet(i: Boxes, j: Boxes, squared: number): LazyTensor {
  const above = lazyJ(j.low).sub(lazyI(i.high)).relu();
  const below = lazyI(i.low).sub(lazyJ(j.high)).relu();
  return above.add(below).sqnorm2().le(squared);
}

/** Boxes moved by one place up or down; the one that is missing meets nothing. */
export async function moved(
  s: Scope,
  { low, high }: Boxes,
  by: 1 | -1,
  work: WorkOptions,
): Promise<Boxes> {
  const { dtype, device, shape } = low;
  const nothing = s.track(await full([1, shape[1] ?? 1], Infinity, { dtype, device, ...work }));
  const of = async (edges: Points): Promise<Points> => {
    const kept = s.track(edges.slice(by === 1 ? [0, -1] : [1]));
    const parts = by === 1 ? [nothing, kept] : [kept, nothing];
    return s.track((await concat(parts, 0, work)) as Points);
  };
  return { low: await of(low), high: await of(high) };
}
