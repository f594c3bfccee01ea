import { isTensor, zeros, type Tensor } from '@mercer/tensor';
import {
  isKnownResult,
  whenKnown,
  type KnownValue,
  type Traced,
  type TracedResult,
  type ValueForm,
} from '@mercer/tensor/operation';
import type { Owning } from './owning.js';

/** In full where it is constant along axes. */
export function spread(value: KnownValue, shape: readonly number[]): KnownValue {
  const isWhole =
    value.shape.length === shape.length && value.shape.every((n, axis) => n === shape[axis]);
  return isWhole ? value : (value.broadcastTo(shape) as KnownValue);
}

/** What was found, in shape and dtype of what is wanted, launched and no longer the owner's. */
export async function released(
  found: readonly (KnownValue | undefined)[],
  forms: readonly ValueForm[],
  owner: Owning,
): Promise<(Tensor | undefined)[]> {
  return Promise.all(
    found.map(async (one, at) => {
      if (one === undefined) return undefined;
      const { shape, dtype } = forms[at] as ValueForm;
      const narrow = one.dtype === dtype ? one : one.cast(dtype);
      const whole = spread((await whenKnown(narrow)).made as KnownValue, shape);
      const { primal } = (await whenKnown(whole)).made as Traced | TracedResult;
      if (!isKnownResult(primal)) return owner.taken(primal);
      const tensor = await primal;
      owner.release(primal);
      return tensor;
    }),
  );
}

/** Gradients that share no memory, with one another or with anything else. */
export async function alone(
  given: readonly (Tensor | undefined)[],
): Promise<(Tensor | undefined)[]> {
  const taken = new Set<Tensor>();
  return Promise.all(
    given.map(async (one) => {
      if (!isTensor(one)) return one;
      if (one.isContiguous && !one.storage.isShared && !taken.has(one)) {
        taken.add(one);
        return one;
      }
      const copy = await one.clone();
      if (!taken.has(one)) one.dispose();
      return copy;
    }),
  );
}

/** A derivative, or zeros like the variable where there is none. */
export async function orZeros(one: Tensor | undefined, like: Tensor): Promise<Tensor> {
  if (one !== undefined) return one;
  const { shape, dtype, device } = like;
  return zeros(shape, { dtype, device });
}
