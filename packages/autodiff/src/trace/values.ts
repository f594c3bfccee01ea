import type { Tensor } from '@mercer/tensor';
import type { KnownResult } from '@mercer/tensor/operation';

/** A tensor, a traced value of a lower level, or a result of either that is not launched yet. */
export type Primal = Tensor | KnownResult;

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value;

/** What is given or promised, in a list; not its promise where none has to be waited for. */
export const allOf = <T>(
  given: readonly (T | Promise<T>)[],
): readonly T[] | Promise<readonly T[]> =>
  given.some((one) => one instanceof Promise)
    ? Promise.all(given.map((one) => Promise.resolve(one)))
    : (given as readonly T[]);

/** Whether a value of a result may have a derivative. */
export const isFloating = ({ dtype }: { readonly dtype: string }): boolean =>
  dtype.startsWith('float') || dtype === 'bfloat16';

/** Whether a value is a tensor, or stands for one. */
export const isPrimal = (value: unknown): value is Primal =>
  typeof value === 'object' && value !== null && 'dtype' in value && 'shape' in value;
