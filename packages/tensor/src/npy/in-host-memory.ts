import type { SignalOption } from '../device.js';
import type { TensorOperand } from '../arithmetic/result-types.js';

/** An array of which the writers of files are given a tensor. */
type Written<T> = T | TensorOperand;

/** What is written: an array of host memory as it is, and of a tensor its elements once the device has them. */
export async function inHostMemory<T>(given: Written<T>, { signal }: SignalOption): Promise<T> {
  const one = await given;
  if (typeof one !== 'object' || one === null || !('toTypedArray' in one)) return one;
  const { shape, dtype } = one;
  return { data: await one.toTypedArray({ raw: true, signal }), shape, dtype } as T;
}

/** The same of arrays by name. */
export const allInHostMemory = <T>(
  pairs: Iterable<readonly [string, Written<T>]>,
  options: SignalOption,
): Promise<(readonly [string, T])[]> =>
  Promise.all(
    Array.from(pairs, async ([name, one]) => [name, await inHostMemory(one, options)] as const),
  );
