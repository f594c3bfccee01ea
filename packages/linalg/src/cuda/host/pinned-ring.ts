import { setImmediate } from 'node:timers/promises';
import type { CudaDevice, PinnedBuffer } from '@mercer/cuda-runtime';
import type { Stream, Tensor } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { FloatArray, HostBlock } from './host-matrices.js';

/** Packed at a time: short enough that the event loop is not held up. */
const PIECE_BYTES = 2 ** 22;
const PIECES = 4;

interface Piece {
  readonly buffer: PinnedBuffer;
  /** Settles when the piece can be used again. */
  busy: Promise<void>;
}

/** Page-locked pieces through which blocks travel in turn: one is packed while others are copied. */
export class PinnedRing implements Disposable {
  readonly #device: CudaDevice;
  readonly #what: string;
  readonly #elementBytes: 4 | 8;
  readonly #pieceBytes: number;
  readonly #pieces: Piece[] = [];
  #used = 0;

  /** @param mostElements of a block */
  constructor(device: CudaDevice, what: string, elementBytes: 4 | 8, mostElements: number) {
    this.#device = device;
    this.#what = what;
    this.#elementBytes = elementBytes;
    this.#pieceBytes = Math.min(PIECE_BYTES, mostElements * elementBytes);
  }

  /** Brings a block to the device. Resolves when the last copy is enqueued. */
  async upload(block: HostBlock, target: Tensor, stream: Stream): Promise<void> {
    await this.#each(block, stream, (piece, first, count) => {
      const bytes = count * block.pitch * this.#elementBytes;
      block.read(first, count, this.#arrayOf(piece));
      const work = { what: this.#what, writes: [target] };
      enqueueNative(stream, work, ({ stream: native }) => {
        const { buffer, byteOffset = 0 } = regionOf(target);
        const at = byteOffset + first * block.pitch * this.#elementBytes;
        piece.busy = native.copyToDevice(buffer, at, piece.buffer, 0, bytes);
      });
    });
  }

  /** Brings a block home. Resolves when it is there. */
  async download(block: HostBlock, source: Tensor, stream: Stream): Promise<void> {
    await this.#each(block, stream, (piece, first, count) => {
      const bytes = count * block.pitch * this.#elementBytes;
      const work = { what: this.#what, reads: [source] };
      enqueueNative(stream, work, ({ stream: native }) => {
        const { buffer, byteOffset = 0 } = regionOf(source);
        const at = byteOffset + first * block.pitch * this.#elementBytes;
        const copied = native.copyToHost(piece.buffer, buffer, at, bytes);
        piece.busy = copied.then(() => {
          block.write(first, count, this.#arrayOf(piece));
        });
      });
    });
    await Promise.all(this.#pieces.map(({ busy }) => busy));
  }

  [Symbol.dispose](): void {
    for (const { buffer } of this.#pieces) buffer.dispose();
  }

  /** Calls `start` with a free piece for each few lines of the block. */
  async #each(
    block: HostBlock,
    stream: Stream,
    start: (piece: Piece, first: number, count: number) => void,
  ): Promise<void> {
    const lineBytes = block.pitch * this.#elementBytes;
    const lines = Math.max(1, Math.floor(this.#pieceBytes / lineBytes));
    for (let first = 0; first < block.lines; first += lines) {
      const piece = await this.#next();
      await stream.room();
      start(piece, first, Math.min(lines, block.lines - first));
      // Whoever uses the piece next, or waits for the last one, meets the error.
      piece.busy.catch(() => undefined);
      await setImmediate();
    }
  }

  async #next(): Promise<Piece> {
    const index = this.#used++ % PIECES;
    const known = this.#pieces[index];
    if (known !== undefined) {
      await known.busy;
      return known;
    }
    const made = { buffer: this.#device.allocatePinned(this.#pieceBytes), busy: Promise.resolve() };
    this.#pieces[index] = made;
    return made;
  }

  #arrayOf({ buffer: { arrayBuffer } }: Piece): FloatArray {
    return this.#elementBytes === 4 ? new Float32Array(arrayBuffer) : new Float64Array(arrayBuffer);
  }
}
