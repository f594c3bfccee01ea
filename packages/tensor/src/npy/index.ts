/**
 * Reading and writing numpy's .npy and .npz files, with every size checked before memory is taken for it.
 *
 * @packageDocumentation
 */
export { NpyError, type NpyErrorCode } from './npy-error.js';
export {
  isNpyDType,
  npyDTypeBytes,
  type ByteOrder,
  type NpyArrayTypes,
  type NpyData,
  type NpyDType,
} from './npy-dtype.js';
export { npyStrides, type NpyArray, type NpyArrayInput } from './npy-array.js';
export { decodeNpy, encodeNpy, type NpyReadOptions, type NpyWriteOptions } from './npy-codec.js';
export { NpyFile, openNpy } from './open-npy.js';
export { npyOutput, type NpyOutput } from './npy-output.js';
export { readNpy, type NpyFileOptions } from './read-npy.js';
export { writeNpy, type NpyFileWriteOptions } from './write-npy.js';
export { writeFileWhole } from './write-file-whole.js';
export { assertReplaceable } from './output-target.js';
export { printable, quoted } from './printable.js';
export { removeOnExit } from './remove-on-exit.js';
export { listNpz, readNpz, type NpzMember, type NpzReadOptions } from './read-npz.js';
export { writeNpz, type NpzWriteOptions } from './write-npz.js';
export type { WatchOptions } from './watch.js';
export {
  float16BitsToNumber,
  float16ToFloat32,
  float32ToFloat16,
  numberToFloat16Bits,
} from './float16.js';
