import { type Tensor } from '@mercer/tensor';
import {
  flatArguments,
  mapArguments,
  Traced,
  whenKnown,
  type Made,
  type MappedCall,
} from '@mercer/tensor/operation';
import { Batching } from './trace/batching.js';
import { handedOut } from './trace/handed.js';
import { isPrimal } from './trace/values.js';

/** Arguments of all examples: those that are mapped have the mapped axis in front. */
export type OfExamples = Pick<MappedCall<readonly unknown[]>, 'args' | 'mapped' | 'size'>;

/** What a function of one example gives: a tensor, with the mapped axis in front where it depends on the examples, or something else. */
interface Given {
  readonly value: unknown;
  readonly isMapped: boolean;
}

/** A list that a user's function gives which is called once for all examples, its tensors for the caller to dispose. @param what for messages */
async function overExamples(
  what: string,
  { args, mapped, size }: OfExamples,
  f: (...given: readonly unknown[]) => PromiseLike<readonly unknown[]>,
): Promise<readonly Given[]> {
  const trace = new Batching(what, size);
  try {
    const are = flatArguments(mapped);
    // a tangent may be a promise, of which no shape is known yet
    const flat = await Promise.all(flatArguments(args).map(whenKnown));
    let at = 0;
    const given = mapArguments(args, () => {
      const { made } = flat[at] as Made;
      return are[at++] === true ? trace.wrap(made) : made;
    });
    const found: readonly unknown[] = await Promise.all(await f(...given));
    await trace.close();
    return found.map((one) => ({
      value: isPrimal(one) ? handedOut(one as Tensor | Traced, trace) : one,
      isMapped: one instanceof Traced && one.trace === trace,
    }));
  } finally {
    await trace.close();
    trace.dispose();
  }
}

/** The same list with the mapped axis in front of every tensor: what depends on no example is repeated. */
export async function forExamples(
  what: string,
  call: OfExamples,
  f: (...given: readonly unknown[]) => PromiseLike<readonly unknown[]>,
): Promise<readonly unknown[]> {
  const all = await overExamples(what, call, f);
  return all.map(({ value, isMapped }) => (isMapped ? value : repeated(value, call.size)));
}

function repeated(value: unknown, size: number): unknown {
  if (!isPrimal(value)) return value;
  using one = value as Tensor;
  return one.broadcastTo([size, ...one.shape]);
}

/** Cotangents of arguments, in their order: of those that all examples share the sum over the examples. */
export async function cotangentsForExamples(
  what: string,
  call: OfExamples,
  sharedAmong: readonly boolean[],
  f: (...given: readonly unknown[]) => PromiseLike<readonly unknown[]>,
): Promise<readonly unknown[]> {
  const all = await overExamples(what, call, f);
  return Promise.all(
    all.map(async ({ value, isMapped }, at) => {
      if (!isPrimal(value)) return value;
      if (sharedAmong[at] !== true) return isMapped ? value : repeated(value, call.size);
      using one = value as Tensor;
      return isMapped ? await one.sum(0) : await one.mul(call.size);
    }),
  );
}
