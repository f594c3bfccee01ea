/**
 * Reading and writing .safetensors files: named arrays behind a JSON header, every size of which is checked before memory is taken for it.
 *
 * @packageDocumentation
 */
export { NpyError, type NpyErrorCode } from '../npy/npy-error.js';
export type { NpyArrayTypes } from '../npy/npy-dtype.js';
export type { WatchOptions } from '../npy/watch.js';
export type {
  SafetensorsArray,
  SafetensorsArrayTypes,
  SafetensorsDType,
  SafetensorsInput,
} from './safetensors-dtype.js';
export {
  listSafetensors,
  readSafetensors,
  type SafetensorsEntry,
  type SafetensorsFile,
  type SafetensorsReadOptions,
} from './read-safetensors.js';
export { writeSafetensors, type SafetensorsWriteOptions } from './write-safetensors.js';
