import type { DeviceMatrix, DeviceRegion } from '@mercer/cuda-runtime';
import { dtypeBytes, type Device, type Storage, type Stream } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { LinalgDType } from '../checks.js';
import type { CudaCall } from './cuda-call.js';

/** Column-major matrices without gaps, one after the other, in memory of a call. */
export interface Dense {
  readonly storage: Storage;
  readonly dtype: LinalgDType;
  readonly rows: number;
  readonly columns: number;
  /** How many matrices. */
  readonly count: number;
}

/** Memory that a call works in; given back, in stream order, when the scratch is disposed. */
export class Scratch implements Disposable {
  readonly stream: Stream;
  /** Matrices of the call. */
  readonly count: number;
  readonly #dtype: LinalgDType;
  readonly #what: string;
  readonly #storages: Storage[] = [];

  constructor({ setting, stream }: Pick<CudaCall, 'setting' | 'stream'>) {
    this.stream = stream;
    this.count = countOf(setting.batchShape);
    this.#dtype = setting.dtype;
    this.#what = setting.what;
  }

  get device(): Device {
    return this.stream.device;
  }

  /** Memory of any kind. */
  bytes(bytes: number): Storage {
    const purpose = `workspace of ${this.#what}`;
    const storage = this.device.allocate(bytes, { stream: this.stream, purpose });
    this.#storages.push(storage);
    return storage;
  }

  /** A matrix for each of the call, of the call's dtype unless it is said. */
  matrices(rows: number, columns: number, dtype = this.#dtype): Dense {
    const { count } = this;
    const storage = this.bytes(count * rows * columns * dtypeBytes(dtype));
    return { storage, dtype, rows, columns, count };
  }

  /** int32 zeros, `per` for each matrix: where a library leaves its infos. */
  codes(per = 1): Storage {
    const storage = this.bytes(4 * per * this.count);
    clear(this.stream, this.#what, storage);
    return storage;
  }

  [Symbol.dispose](): void {
    for (const storage of this.#storages) storage.dispose();
  }
}

/** Fills memory with zero bytes. */
export function clear(stream: Stream, what: string, storage: Storage): void {
  if (storage.bytes === 0) return;
  enqueueNative(stream, { what, writes: [storage] }, ({ stream: native }) => {
    const { buffer, byteOffset = 0 } = regionOf(storage);
    native.memset(buffer, byteOffset, 0, storage.bytes);
  });
}

/** How many matrices a batch has. */
export function countOf(batchShape: readonly number[]): number {
  return batchShape.reduce((product, extent) => product * extent, 1);
}

/** Matrix z as libraries take it. */
export function at(dense: Dense, z: number): DeviceMatrix {
  const byteOffset = z * dense.rows * dense.columns * dtypeBytes(dense.dtype);
  return placed(dense, (storage) => ({ ...regionOf(storage), byteOffset }));
}

/** One matrix, where its place is, as libraries take it. */
export function placed(
  { storage, rows }: Dense,
  place: (storage: Storage) => DeviceRegion,
): DeviceMatrix {
  return { ...place(storage), leadingDimension: Math.max(1, rows) };
}

/** Element i of an array of elements of `bytes` bytes. */
export function element(storage: Storage, i: number, bytes: number): DeviceRegion {
  return { ...regionOf(storage), byteOffset: i * bytes };
}
