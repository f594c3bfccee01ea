import type { DType } from '@mercer/kernels';
import { attachTo } from './attach-to.js';
import { heard, pendingPrototype } from './pending.js';
import type { TensorMethods } from './tensor-methods.js';
import { Tensor } from './tensor.js';
import { Traced } from './trace/traced.js';

/** Called with the tensor and the method's arguments, as they are: traced or not, there or pending. See `differentiable`. */
export type AttachedMethod = (self: Tensor<never>, ...given: never[]) => Promise<unknown>;

/** Methods by their names in {@link TensorMethods}. */
export type AttachedMethods = Partial<Record<keyof TensorMethods<DType>, AttachedMethod>>;

/**
 * Adds methods to tensors, to pending tensors and to traced ones.
 *
 * @throws TypeError where tensors have a member of that name
 */
export function attachMethods(methods: AttachedMethods): void {
  for (const [name, call] of Object.entries<AttachedMethod>(methods)) {
    const apply = call as (self: Tensor, ...given: readonly unknown[]) => Promise<unknown>;
    const value = function (this: Tensor, ...given: readonly unknown[]): Promise<unknown> {
      heard([this, ...given]);
      return apply(this, ...given);
    };
    for (const one of [Tensor.prototype, Traced.prototype, pendingPrototype]) {
      attachTo(one, { [name]: value });
    }
  }
}
