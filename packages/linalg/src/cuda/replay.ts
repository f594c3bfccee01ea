import type { CudaGraphExec, CudaStream, DeviceRegion } from '@mercer/cuda-runtime';
import { MOST_PIECES, pieceScalars } from '@mercer/kernels';
import type { LoadedKernel, Storage, Stream } from '@mercer/tensor';
import { nativeStream, regionOf } from '@mercer/tensor/cuda';
import type { Enqueuing } from '@mercer/tensor/operation';
import type { CudaCall } from './cuda-call.js';
import { kernels, loaded } from './kernels.js';

const ALIGNMENT = 256;
/** The counter lies before the pieces. */
const COUNTER_BYTES = ALIGNMENT;

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/**
 * Work on matrices that one graph does again and again. A lane has a slot: a counter, which says the matrix, and a place for one
 * matrix's piece of every storage. The graph copies the pieces of the counter's matrix into the slot, works there, copies them back and
 * advances the counter.
 */
export class Replay {
  /** Of a slot. */
  readonly bytes: number;
  readonly #copy: LoadedKernel;
  readonly #advance: LoadedKernel;
  readonly #offsets: ReadonlyMap<Storage, number>;
  readonly #count: number;

  private constructor(
    copy: LoadedKernel,
    advance: LoadedKernel,
    touches: readonly Storage[],
    count: number,
  ) {
    this.#copy = copy;
    this.#advance = advance;
    this.#count = count;
    const offsets = new Map<Storage, number>();
    let bytes = COUNTER_BYTES;
    for (const storage of touches) {
      offsets.set(storage, bytes);
      bytes += aligned(storage.bytes / count);
    }
    this.#offsets = offsets;
    this.bytes = bytes;
  }

  /** Loads what copies pieces. @throws the signal's reason */
  static *prepare(call: CudaCall, count: number, touches: readonly Storage[]): Enqueuing<Replay> {
    if (touches.length > MOST_PIECES) {
      throw new TypeError(`${touches.length} storages, of which ${MOST_PIECES} can be copied`);
    }
    const copy = yield* loaded(call, kernels.copyPieces());
    const advance = yield* loaded(call, kernels.advance());
    return new Replay(copy, advance, touches, count);
  }

  /** The graph of a lane, whose matrices are `first` and every `step`th after it; what it is launched for is nobody else's. */
  capture(
    stream: Stream,
    slot: DeviceRegion,
    { first, step }: { readonly first: number; readonly step: number },
    enqueue: (place: (storage: Storage) => DeviceRegion) => void,
  ): CudaGraphExec {
    const native = nativeStream(stream);
    const { buffer, byteOffset: start = 0 } = slot;
    // bare addresses: the call's own turn orders all uses
    const counter = buffer.address + BigInt(start);
    const places = [...this.#offsets].map(([storage, offset]) => {
      const { buffer: own, byteOffset = 0 } = regionOf(storage);
      return { array: own.address + BigInt(byteOffset), place: counter + BigInt(offset) };
    });
    const arrays = padded(places.map(({ array }) => array));
    const slots = padded(places.map(({ place }) => place));
    const sizes = [...this.#offsets.keys()].map(({ bytes }) => bytes / this.#count);
    native.memset(buffer, start, first, 4, 4);
    return captured(native, () => {
      this.#copy.launch(stream, {
        pointers: [counter, ...arrays, ...slots],
        scalars: pieceScalars(sizes.map((bytes) => ({ bytes, fromStep: bytes }))),
      });
      enqueue((storage) => {
        const offset = this.#offsets.get(storage);
        if (offset === undefined) throw new TypeError('a storage that the work does not name');
        return { buffer, byteOffset: start + offset };
      });
      this.#copy.launch(stream, {
        pointers: [counter, ...slots, ...arrays],
        scalars: pieceScalars(sizes.map((bytes) => ({ bytes, toStep: bytes }))),
      });
      this.#advance.launch(stream, { pointers: [counter], scalars: { step } });
    });
  }
}

/** Addresses for every piece that a launch may have. */
const padded = (addresses: readonly bigint[]): bigint[] => [
  ...addresses,
  ...new Array<bigint>(MOST_PIECES - addresses.length).fill(0n),
];

/** The graph of what is enqueued on the stream. */
export function captured(stream: CudaStream, enqueue: () => void): CudaGraphExec {
  stream.beginCapture();
  let complete = false;
  try {
    enqueue();
    complete = true;
  } finally {
    if (!complete) stream.endCapture().dispose();
  }
  using graph = stream.endCapture();
  return graph.instantiate();
}
