import { map, type Device, type Scope, type Stream, type Tensor } from '@mercer/tensor';
import { SAME } from './moves.js';

/** Tensors of one shape and dtype, of several layers, as one: (count, ..shape). */
export interface Batch {
  /** Whose they are, among all. */
  readonly places: readonly number[];
  readonly whole: Tensor;
}

/** What a tensor of a batch is like. */
export interface Like {
  readonly shape: readonly number[];
  readonly dtype: Tensor['dtype'];
  readonly device: Device;
  /** What else those of one batch have in common. */
  readonly kind?: string;
}

/** Room for tensors, of which those that are alike are a batch. */
export function roomFor(scope: Scope, likes: readonly Like[]): readonly Batch[] {
  const groups = new Map<string, number[]>();
  for (const [place, { shape, dtype, kind = '' }] of likes.entries()) {
    const key = `${dtype} ${shape.join()} ${kind}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  }
  return [...groups.values()].map((places) => {
    const { shape, dtype, device } = likes[places[0] ?? 0] as Like;
    return { places, whole: scope.empty([places.length, ...shape], { dtype, device }) };
  });
}

/** The tensor of each place: views. */
export function partsOf(scope: Scope, batches: readonly Batch[]): readonly Tensor[] {
  const parts: Tensor[] = [];
  for (const { places, whole } of batches) {
    for (const [at, place] of places.entries()) parts[place] = scope.track(whole.slice(at));
  }
  return parts;
}

/** Batches of the same places, of other tensors. */
export const batchesOf = (batches: readonly Batch[], wholes: readonly Tensor[]): readonly Batch[] =>
  batches.map(({ places }, at) => ({ places, whole: wholes[at] as Tensor }));

/**
 * Tensors of the places of batches as one for each batch, for each list of them: a view where a batch has one place, else a copy. The copies of all are one launch.
 *
 * @param lists of a tensor for each place, alike in a batch
 */
export async function together(
  scope: Scope,
  batches: readonly Batch[],
  lists: readonly (readonly Tensor[])[],
  stream?: Stream,
): Promise<readonly (readonly Tensor[])[]> {
  const from: Tensor[] = [];
  const to: Tensor[] = [];
  const found = lists.map((list) =>
    batches.map(({ places }) => {
      const own = places.map((place) => list[place] as Tensor);
      const [{ shape, dtype, device }] = own as [Tensor];
      if (own.length === 1) return scope.track((own[0] as Tensor).reshape([1, ...shape]));
      const whole = scope.empty([own.length, ...shape], { dtype, device });
      from.push(...own);
      to.push(...own.map((_, at) => scope.track(whole.slice(at))));
      return whole;
    }),
  );
  if (from.length > 0) await map(SAME, { x: from }, { out: to, ...(stream && { stream }) });
  return found;
}
