import { flatArguments, isTraced } from '@mercer/tensor/operation';

/**
 * The same function. Where its arguments are traced it is called in one that is differentiated, whose value does not depend on what nobody awaits there: that
 * ends in no unhandled rejection, as other operations do not.
 */
export const heardInTraces =
  <A extends readonly unknown[], R>(
    call: (...args: A) => Promise<R>,
  ): ((...args: A) => Promise<R>) =>
  (...args) => {
    const result = call(...args);
    if (flatArguments(args).some(isTraced)) result.catch(() => undefined);
    return result;
  };
