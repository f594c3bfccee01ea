import type { Storage } from '../device.js';
import { viewsOverlap } from '../overlap.js';
import type { Tensor } from '../tensor.js';

/** Of more views of one storage it is not asked whether they overlap. */
const MOST_VIEWS = 16;

function isGiven(outs: readonly (Tensor | undefined)[]): boolean {
  for (const out of outs) if (out !== undefined) return true;
  return false;
}

/**
 * Whether an output has elements of another tensor of a call, or may have. One that is an input, handle and all, was allowed by the checks: keys of
 * layouts tell such calls apart.
 *
 * @param outs undefined where the call makes the result
 * @param read lists of tensors that it reads
 */
export function sharesMemory(
  outs: readonly (Tensor | undefined)[],
  ...read: readonly (readonly Tensor[])[]
): boolean {
  if (!isGiven(outs)) return false;
  /** Of each storage the tensor of the call, or all of them. */
  const owners = new Map<Storage, Tensor | Set<Tensor>>();
  for (const list of [...read, outs]) {
    for (const one of list) {
      if (one === undefined) continue;
      const owner = owners.get(one.storage);
      if (owner === undefined) owners.set(one.storage, one);
      else if (owner instanceof Set) owner.add(one);
      else if (owner !== one) owners.set(one.storage, new Set([owner, one]));
    }
  }
  return outs.some((out) => {
    const owner = out && owners.get(out.storage);
    if (!(owner instanceof Set)) return false;
    if (owner.size > MOST_VIEWS) return true;
    for (const one of owner) if (one !== out && viewsOverlap(out as Tensor, one)) return true;
    return false;
  });
}
