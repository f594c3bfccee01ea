import type { SignalOption, Tensor } from '@mercer/tensor';
import { readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { taped } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { checkAlike, checkLists, type ChangesOf } from './jvp.js';
import { LaterCalls } from './later-calls.js';
import { orZeros } from './trace/handed.js';
import { pushForward, type Change } from './trace/push-forward.js';
import { isTree, leavesOf, replaced, type Settled } from './tree.js';
import { heardInTraces } from './heard-in-traces.js';

/** A function's value at a point, with its tangent map there. */
export interface Linearized<A extends readonly unknown[], V> {
  readonly value: V;
  /**
   * The change of the value along changes of the arguments, like the value: for each argument its change, or undefined where it has none. It may be called
   * again until `dispose()`, and does not run the function.
   *
   * @throws MercerError SHAPE_MISMATCH where a change is not like its argument; FREED after `dispose()`; MODIFIED
   */
  readonly push: (...tangents: ChangesOf<A>) => Promise<V>;
  /** Returns what the tangents need, when calls of `push` that are under way have ended. The value stays the caller's. */
  readonly dispose: () => void;
}

/**
 * The value of a function with its tangent map at that point, for many directions: `push` computes with what the one run of `f` recorded.
 *
 * ```ts
 * import { linearize } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([1, 2, 3], where);
 * const { push, dispose } = await linearize((w: Tensor<'float32'>) => w.square())(x);
 * console.log(await (await push(await tensor([1, 0, 0], where))).toNested()); // [ 2, 0, 0 ]
 * console.log(await (await push(await tensor([0, 1, 10], where))).toNested()); // [ 0, 4, 60 ]
 * dispose();
 * ```
 *
 * @param f gives a tensor, or objects and arrays of tensors. Arguments that are no trees of tensors are given as they are
 * @param options `signal` is heeded in front of every operation, also of `push`
 * @throws as {@link jvp}
 */
export function linearize<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  options?: SignalOption,
): (...args: A) => Promise<Linearized<A, Settled<R>>> {
  const what = 'linearize';
  checkFunction(what, f);
  const { signal } = readOptions(what, options, SIGNAL_OPTION);
  return heardInTraces(async (...args) => {
    const argnums = args.flatMap((one, at) => (isTree(one) ? [at] : []));
    const call = await taped(what, f, args, {
      argnums,
      allowUnused: true,
      keeps: true,
      signal,
    });
    const calls = new LaterCalls(call.tape);
    const changesOf = async (tangents: readonly unknown[]): Promise<readonly Change[]> => {
      const all: Change[] = [];
      for (const [at, tangent] of tangents.entries()) {
        if (tangent === undefined) continue;
        const path = `${what}: argument ${at}`;
        const own = call.leaves.filter((leaf) => leaf.argument === at);
        const changes = await leavesOf(
          tangent,
          `${what}: tangent ${at}`,
          'Pass one like the argument',
        );
        checkAlike(own, changes, path);
        for (const [k, { source }] of own.entries()) {
          const change = changes[k]?.value;
          if (source !== undefined && change !== undefined) all.push({ source, tangent: change });
        }
      }
      return all;
    };
    const push = async (...tangents: readonly unknown[]): Promise<unknown> => {
      checkLists(what, args, tangents);
      const wanted = call.outputs.map(({ source }) => source);
      const found = await pushForward(call.tape, await changesOf(tangents), wanted);
      const all = call.outputs.map(async ({ value }, at): Promise<Tensor> =>
        orZeros(found[at], value),
      );
      return replaced(call.value, await Promise.all(all));
    };
    return {
      value: call.value,
      push: (...tangents: readonly unknown[]) => calls.call('push', () => push(...tangents)),
      dispose: () => {
        calls.dispose();
      },
    } as Linearized<A, Settled<R>>;
  });
}
