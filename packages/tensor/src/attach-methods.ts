import type { DType } from '@mercer/kernels';
import { attachTo } from './attach-to.js';
import {
  addPendingMethod,
  heard,
  isPending,
  pending,
  pendingPrototype,
  whenArrived,
  type Gives,
} from './pending.js';
import type { TensorMethods } from './tensor-methods.js';
import { Tensor } from './tensor.js';
import { Traced } from './trace/traced.js';
import { isTraced, promisesTraced } from './trace/traced-value.js';

/** What a method does. */
export interface AttachedMethod {
  /** What its promise is of. */
  readonly gives: Gives;
  /** Whether the tensor and the arguments are given as they are, pending or not; else pending ones are waited for. */
  readonly takesPending?: true;
  /** Called with the tensor and the method's arguments. */
  readonly call: (self: Tensor<never>, ...given: never[]) => Promise<unknown>;
}

/** Methods by their names in {@link TensorMethods}. */
export type AttachedMethods = Partial<Record<keyof TensorMethods<DType>, AttachedMethod>>;

/**
 * Adds methods to tensors, to pending tensors and to traced ones. Arguments that are pending tensors are waited for.
 *
 * @throws TypeError where tensors have a member of that name
 */
export function attachMethods(methods: AttachedMethods): void {
  for (const [name, { gives, call, takesPending }] of Object.entries<AttachedMethod>(methods)) {
    const apply = call as (self: Tensor, ...given: readonly unknown[]) => Promise<unknown>;
    if (takesPending === true) {
      const whole = function (this: Tensor, ...given: readonly unknown[]): Promise<unknown> {
        heard([this, ...given]);
        return apply(this, ...given);
      };
      for (const { prototype } of [Tensor, Traced]) attachTo(prototype, { [name]: whole });
      attachTo(pendingPrototype, { [name]: whole });
      continue;
    }
    const value = function (this: Tensor, ...given: readonly unknown[]): Promise<unknown> {
      if (!given.some(isPending)) {
        const result = apply(this, ...given);
        return gives === 'tensor' && result instanceof Promise ? pending(result) : result;
      }
      const result = whenArrived(given, (all) => apply(this, ...all));
      if (gives !== 'tensor') return result;
      return [this, ...given].some(isTraced) ? promisesTraced(pending(result)) : pending(result);
    };
    for (const { prototype } of [Tensor, Traced]) attachTo(prototype, { [name]: value });
    addPendingMethod(name, gives);
  }
}
