import type { Tensor } from '@mercer/tensor';
import {
  anotherHandle,
  Arguments,
  whenKnown,
  type Traced,
  type TracedResult,
} from '@mercer/tensor/operation';
import { heardInTraces, holdsTraced } from './heard-in-traces.js';
import { handleOf, untraced } from './trace/handed.js';
import { Intercepting, type Interceptor } from './trace/intercepting.js';
import { isTree, leavesOf, replaced, type Leaf, type Settled } from './tree.js';

/** What becomes of a result when its trace ends. */
type HandsOut = (result: unknown, trace: Intercepting, made: Tensor[]) => Promise<unknown>;

/** A tensor among the arguments of a function whose operations are intercepted. */
export interface InterceptedLeaf extends Pick<Leaf, 'path'> {
  /** The number of the argument that it belongs to. */
  readonly argument: number;
}

/**
 * A function with something else in the place of operations on its arguments, and on what is computed of them: casts in front of products, or notes of what
 * layers are given. The operations that the interceptor makes are differentiated and mapped by outer traces like others.
 *
 * @param what the function for messages
 * @param marked the mark of each tensor of the arguments, by which the interceptor knows it again; null leaves it as it is
 * @param handsOut what is made of the result
 */
export function intercepted<A extends readonly unknown[], R>(
  what: string,
  f: (...args: A) => R | PromiseLike<R>,
  by: Interceptor,
  marked: (leaf: InterceptedLeaf) => unknown,
  handsOut: HandsOut = untraced,
): (...args: A) => Promise<Settled<R>> {
  return heardInTraces(async (...args: A) => {
    const trace = new Intercepting(what, by);
    const made: Tensor[] = [];
    try {
      const wrap = ({ value, path }: Leaf, argument: number): Tensor => {
        const mark = marked({ path, argument });
        if (mark === null) return value;
        const handle = handleOf(value);
        return trace.wrap(trace.own(handle), mark) as Tensor;
      };
      const given = await Promise.all(
        args.map(async (one, at) => {
          if (!isTree(one)) return one;
          const leaves = await leavesOf(one, '');
          return replaced(
            one,
            leaves.map((leaf) => wrap(leaf, at)),
          );
        }),
      );
      const result = await handsOut(await f(...(given as unknown as A)), trace, made);
      await trace.close();
      made.length = 0;
      return result as Settled<R>;
    } finally {
      for (const one of made) one.dispose();
      await trace.close();
      trace.dispose();
    }
  });
}

/**
 * A function whose results between are disposed when it has ended. With traced values among its arguments it is the function itself: the trace owns what it
 * computes.
 */
export function owned<A extends readonly unknown[], R>(
  what: string,
  f: (...args: A) => R,
): (...args: A) => R | Promise<Settled<Awaited<R>>> {
  const alone = intercepted<A, Awaited<R>>(
    what,
    async (...args): Promise<Awaited<R>> => await f(...args),
    PLAIN,
    () => undefined,
  );
  return (...args) => (holdsTraced(args) ? f(...args) : withOwnHandles(alone, args));
}

/** A call that its caller may dispose the arguments of behind it. */
async function withOwnHandles<A extends readonly unknown[], R>(
  call: (...args: A) => Promise<R>,
  args: A,
): Promise<R> {
  const given = Arguments.of(args);
  const handles = given.flat.map(anotherHandle);
  try {
    return await call(...(given.with(handles).all as unknown as A));
  } finally {
    for (const [at, one] of handles.entries())
      if (!Object.is(one, given.flat[at])) (one as Disposable)[Symbol.dispose]();
  }
}

/**
 * The same with a list of results, elementwise ones not launched yet, that are computed into tensors: each is written once.
 *
 * @param f gives `{ results }`, so that nothing waits for them
 */
export function ownedInto<A extends readonly unknown[]>(
  what: string,
  f: (...args: A) => { readonly results: readonly unknown[] },
  into: readonly Tensor[],
): (...args: A) => Promise<void> {
  const write: HandsOut = async (given) => {
    const { results } = given as ReturnType<typeof f>;
    for (const [at, target] of into.entries()) {
      const { made } = await whenKnown(results[at]);
      const value = made as Traced | TracedResult;
      await target.copyFrom(value.primal as Tensor);
    }
  };
  const alone = intercepted(what, f, PLAIN, () => undefined, write);
  return async (...args) => {
    await alone(...args);
  };
}

const PLAIN: Interceptor = { computes: ({ args, call }) => call(...args) };
