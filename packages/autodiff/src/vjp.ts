import type { OptionNames } from '@mercer/options';
import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { pulled, taped, type ArgNums, type TapedCall } from './differentiated-call.js';
import {
  checkBooleans,
  checkFunction,
  independent,
  type GradientsOf,
  type GradOptions,
  type WithAux,
} from './grad.js';
import { LaterCalls } from './later-calls.js';
import { orZeros } from './trace/handed.js';
import type { Seed } from './trace/reverse.js';
import { leavesOf, type Settled } from './tree.js';
import { heardInTraces } from './heard-in-traces.js';

/** Options of {@link vjp}: those of `grad`, but that variables without influence have zeros unless `allowUnused` is false. */
export type VjpOptions<N extends ArgNums = ArgNums, X extends boolean = boolean> = GradOptions<
  N,
  X
>;

const VJP_OPTIONS: OptionNames<VjpOptions> = {
  ...SIGNAL_OPTION,
  argnums: true,
  allowUnused: true,
  hasAux: true,
  detectNaN: true,
};

/** A cotangent of a value: for a tree of tensors a tree like it. */
export type CotangentOf<V> = V extends Tensor
  ? Tensor | Pending<Tensor>
  : { readonly [K in keyof V]: CotangentOf<V[K]> };

/** A call whose gradients are taken later, for any cotangents. */
export interface Pulled<G, V = Tensor> {
  readonly value: V;
  /**
   * The sum of the value's elements, weighed by a cotangent like the value, differentiated by the variables: like the argument, zeros where it has no
   * influence. It may be called again until `dispose()`.
   *
   * @throws MercerError SHAPE_MISMATCH, FREED after `dispose()`, MODIFIED; INDEPENDENT with `allowUnused: false`
   */
  readonly pull: (cotangent: CotangentOf<V>) => Promise<G>;
  /** Returns what the gradients need, when calls of `pull` that are under way have ended. The value stays the caller's. */
  readonly dispose: () => void;
}

/**
 * A function's value with the way back from its elements to its first argument: the product of a cotangent with the matrix of derivatives.
 *
 * ```ts
 * import { vjp } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([1, 2, 3], where);
 * const { value, pull, dispose } = await vjp((w: Tensor<'float32'>) => w.square())(x);
 * console.log(await value.toNested()); // [ 1, 4, 9 ]
 * console.log(await (await pull(await tensor([1, 0, 10], where))).toNested()); // [ 2, 0, 60 ]
 * dispose();
 * ```
 *
 * @param f gives a tensor, or objects and arrays of tensors
 * @throws as {@link grad}, but that the value may have any shape
 */
export function vjp<A extends readonly unknown[], R, const N extends ArgNums = 0>(
  f: (...args: A) => R,
  options?: VjpOptions<N, false>,
): (...args: A) => Promise<Pulled<GradientsOf<A, N>, Settled<R>>>;
export function vjp<A extends readonly unknown[], R, X, const N extends ArgNums = 0>(
  f: (...args: A) => readonly [value: R, aux: X] | PromiseLike<readonly [value: R, aux: X]>,
  options: VjpOptions<N> & { readonly hasAux: true },
): (...args: A) => Promise<Pulled<GradientsOf<A, N>, Settled<R>> & WithAux<Settled<X>>>;
export function vjp(
  f: (...args: never[]) => unknown,
  given?: VjpOptions,
): (...args: readonly unknown[]) => Promise<unknown> {
  const what = 'vjp';
  checkFunction(what, f);
  const options = readOptions(what, given, VJP_OPTIONS);
  checkBooleans(what, options, ['allowUnused', 'hasAux', 'detectNaN']);
  return heardInTraces(async (...args) => {
    const call = await taped(what, f, args, { ...options, keeps: true });
    const calls = new LaterCalls(call.tape);
    const pull = async (cotangent: unknown): Promise<unknown> => {
      const found = await pulled(call, await seedsOf(what, call, cotangent), true);
      const unused = found.indexOf(undefined);
      if (options.allowUnused === false && unused >= 0) {
        for (const one of found) one?.dispose();
        throw independent(call.leaves[unused]?.path ?? what, call.tape.wasRead);
      }
      const all = call.leaves.map(async ({ value: x }, at) => orZeros(found[at], x));
      return call.rebuilt(await Promise.all(all));
    };
    return {
      value: call.value,
      pull: (cotangent: unknown) => calls.call('pull', () => pull(cotangent)),
      dispose: () => {
        calls.dispose();
      },
      ...(options.hasAux === true && { aux: call.aux }),
    };
  });
}

/** @throws MercerError SHAPE_MISMATCH where a cotangent is not like the value */
async function seedsOf(
  what: string,
  { outputs }: TapedCall,
  cotangent: unknown,
): Promise<readonly Seed[]> {
  const given = await leavesOf(cotangent, `${what}: the cotangent`, 'Pass one like the value');
  if (given.length !== outputs.length) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the cotangent has ${given.length} tensors, and the value ${outputs.length}. Pass one for each.`,
    );
  }
  return outputs.flatMap(({ value: { shape }, source }, at): readonly Seed[] => {
    const { value: one, path } = given[at] as { value: Tensor; path: string };
    const isSame = one.shape.length === shape.length && one.shape.every((n, k) => n === shape[k]);
    if (isSame) return source === undefined ? [] : [{ source, cotangent: one }];
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${path} has shape ${formatShape(one.shape)}, and the value ${formatShape(shape)}. Pass a cotangent of the value's shape.`,
    );
  });
}
