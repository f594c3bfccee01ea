import type { NpyArray, NpyDType } from '@mercer/core/npy';

/** An array that was read or is written, with the names of its columns where it has some. */
export interface NamedArray<D extends NpyDType = NpyDType> extends NpyArray<D> {
  readonly names?: readonly string[];
}
