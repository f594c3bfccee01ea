import { MercerError } from './mercer-error.js';

/**
 * What tensors, streams, devices and symbolic matrices hold in their first property: a structured clone reads it and meets an
 * error that says how data travels, where a copy without data would have reached the receiver.
 *
 * @param what 'a tensor'
 * @param remedy a sentence
 */
export function localHandle(what: string, remedy: string): object {
  const handle = {
    get data(): never {
      throw new MercerError(
        'NOT_CLONEABLE',
        `${what} belongs to the thread that made it, and a copy would have no data: structuredClone and postMessage do not take it. ${remedy}`,
      );
    },
  };
  // JSON leaves the property out.
  Object.defineProperty(handle, 'toJSON', { value: () => undefined });
  return Object.freeze(handle);
}
