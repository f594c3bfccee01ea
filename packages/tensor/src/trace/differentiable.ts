import {
  afterArrival,
  arrivedNow,
  isPending,
  pending,
  pendingAfter,
  pendingOrThere,
} from '../pending.js';
import { Arguments, someArgument } from './arguments.js';
import { recorded } from './dispatch.js';
import type { BatchRule, Composition, DerivativeRule, Primitive } from './primitive.js';
import { isTraced } from './traced-value.js';

/**
 * A function on tensors that takes traced values too: it is recorded with its rule where one is among its arguments, or among the elements of an
 * argument that is a list or a record. Results that are not there yet are waited for.
 *
 * @param call the function, whose other members stay
 * @param batch how it is mapped by `vmap`; default: it is called for one example after the other
 * @param makes 'one call': it makes all its calls at once, or in the place of the first, and its result has that place before it is there
 */
export function differentiable<
  F extends (...args: never[]) => unknown,
  A extends readonly unknown[],
>(
  name: string,
  call: F,
  derivative: DerivativeRule<A> | Composition<A> | 'constant' | undefined,
  batch?: BatchRule<A>,
  makes: 'one call' | 'several calls' = 'several calls',
): F {
  const present = (args: readonly unknown[]): unknown =>
    withPresent(call, args, primitive.call, makes === 'one call');
  const primitive: Primitive = {
    name,
    call: (...args: never[]) =>
      someArgument(args, isNoTensor) ? (recorded(primitive, args) ?? present(args)) : call(...args),
    untraced: (...args: never[]) => present(args),
    derivative,
    batch,
  };
  return Object.assign((...args: never[]): unknown => primitive.call(...args), call);
}

/** Whether something stands for a tensor that is none, or not yet. */
const isNoTensor = (value: object): boolean => isTraced(value) || isPending(value);

/** A call once the results among its arguments that are not there yet are there, at the place that it has now. */
function withPresent(
  call: (...given: never[]) => unknown,
  args: readonly unknown[],
  later: (...given: never[]) => unknown,
  isOneCall: boolean,
): unknown {
  if (!someArgument(args, isPending)) return call(...(args as never[]));
  const given = Arguments.of(args);
  const there = arrivedNow(given.flat);
  if (there !== undefined) {
    const { all } = given.with(there);
    const run = there.some(isTraced) ? later : call;
    return pendingOrThere(() => run(...(all as never[])));
  }
  const made = (all: readonly unknown[]): unknown => later(...(given.with(all).all as never[]));
  const result = afterArrival(given.flat, made, isOneCall);
  return isOneCall ? pendingAfter(given.flat, result) : pending(result);
}
