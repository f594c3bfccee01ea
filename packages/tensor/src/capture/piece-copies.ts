import {
  emitCopyPieces,
  emitRepeats,
  MOST_PIECES,
  pieceScalars,
  type Scalars,
} from '@mercer/kernels';
import type { DeviceCore } from '../device-core.js';
import { DeviceKernel, type KernelArguments } from '../device-kernel.js';
import type { StorageBlock } from '../storage-block.js';
import type { CapturedGraph, StreamCore } from '../stream-core.js';

/** Memory from a byte of a storage on. */
export interface Place {
  readonly storage: StorageBlock;
  readonly byteOffset: number;
}

/** What copies pieces of memory of a device. */
export interface PieceCopier {
  readonly device: DeviceCore;
  /** Copies many pieces in one launch; undefined on a CPU, which copies one after the other. */
  readonly kernel: DeviceKernel | undefined;
  /** What decides whether the device does captured work once more; undefined where the host does, and on a CPU. */
  readonly repeats: DeviceKernel | undefined;
}

const copyPieces = emitCopyPieces();
const repeatsKernel = emitRepeats();
/** Devices whose driver or compiler does not know the function that it calls. */
const withoutLoops = new WeakSet<DeviceCore>();

/** Loads what copies pieces. @throws as loading does */
export async function pieceCopier(device: DeviceCore): Promise<PieceCopier> {
  if (device.kind === 'cpu') return { device, kernel: undefined, repeats: undefined };
  // compiled side by side
  const [kernel, repeats] = await Promise.all([
    device.load(copyPieces),
    withoutLoops.has(device) ? undefined : device.load(repeatsKernel).catch(() => undefined),
  ]);
  if (!(kernel instanceof DeviceKernel)) throw new TypeError('loaded by another package');
  if (repeats instanceof DeviceKernel) return { device, kernel, repeats };
  withoutLoops.add(device);
  return { device, kernel, repeats: undefined };
}

interface Launch {
  readonly first: number;
  readonly args: KernelArguments;
  readonly scalars: Scalars;
  /** Where it was captured, if it was. */
  point: number | undefined;
}

/** Copies of pieces of the same lengths, from and to other places each time. */
export class PieceCopies {
  readonly #copier: PieceCopier;
  readonly #bytes: readonly number[];
  readonly #launches: readonly Launch[];

  constructor(copier: PieceCopier, bytes: readonly number[]) {
    this.#copier = copier;
    this.#bytes = bytes;
    const { kernel } = copier;
    const launches: Launch[] = [];
    for (let first = 0; kernel !== undefined && first < bytes.length; first += MOST_PIECES) {
      const sizes = bytes.slice(first, first + MOST_PIECES).map((one) => ({ bytes: one }));
      const scalars = Object.freeze(pieceScalars(sizes));
      launches.push({ first, args: kernel.newArguments(), scalars, point: undefined });
    }
    this.#launches = launches;
  }

  /** Enqueues them; pieces do not overlap. What a capture holds is ordered by its replays, which run one after the other. */
  enqueue(from: readonly Place[], to: readonly Place[], stream: StreamCore): void {
    const { device, kernel } = this.#copier;
    if (kernel === undefined || this.#bytes.length === 1) {
      for (const [at, bytes] of this.#bytes.entries()) {
        if (bytes > 0) copyBytes(device, to[at] as Place, from[at] as Place, bytes, stream);
      }
      return;
    }
    for (const { first, args, scalars } of this.#launches) {
      const count = Math.min(MOST_PIECES, this.#bytes.length - first);
      for (let at = 0; at < count; at++) {
        setPlace(kernel, args, 1 + at, from[first + at] as Place);
        setPlace(kernel, args, 1 + MOST_PIECES + at, to[first + at] as Place);
      }
      kernel.setScalars(args, scalars);
      kernel.enqueue(stream, args);
    }
  }

  /** Enqueues them on a stream that captures, between memory that whoever replays it holds and orders. On a CPU alone. */
  enqueueBare(from: readonly Place[], to: readonly Place[], stream: StreamCore): void {
    const { device } = this.#copier;
    for (const [at, bytes] of this.#bytes.entries()) {
      const [one, other] = [to[at] as Place, from[at] as Place];
      if (bytes > 0) {
        const { storage } = other;
        device.move(one.storage, one.byteOffset, storage, other.byteOffset, bytes, stream);
      }
    }
  }

  /**
   * Captures them, on a GPU: one side is memory that the capture's work reads or writes, the other is brought by each replay.
   *
   * @param side which one the places are
   */
  capture(places: readonly Place[], side: 'from' | 'to', stream: StreamCore): void {
    const { kernel } = this.#copier;
    if (kernel === undefined) return;
    for (const one of this.#launches) {
      const own = places.slice(one.first, one.first + MOST_PIECES);
      this.#point(one, own, own);
      kernel.setScalars(one.args, one.scalars);
      const storages = own.map(({ storage }) => storage);
      const how = side === 'from' ? 'reads' : 'writes';
      one.point = kernel.captureOpen(stream, one.args, how, storages);
    }
  }

  /** Replays of the graph on the stream copy these from now on. */
  bind(
    graph: CapturedGraph,
    from: readonly Place[],
    to: readonly Place[],
    stream: StreamCore,
  ): void {
    const { kernel } = this.#copier;
    for (const { storage } of from) if (!storage.isCaptured) storage.beforeRead(stream);
    for (const { storage } of to) storage.beforeWrite(stream);
    for (const one of this.#launches) {
      if (one.point === undefined) continue;
      const end = one.first + MOST_PIECES;
      this.#point(one, from.slice(one.first, end), to.slice(one.first, end));
      kernel?.setScalars(one.args, one.scalars);
      kernel?.replaceIn(graph, one.point, one.args);
    }
  }

  /**
   * Replays of the graph copy these from now on, and no other pieces: between memory that whoever replays it holds, written by the replay before.
   *
   * @param from where a piece comes from, undefined where it is left as it is; none of any: nothing is copied
   * @param ofLoops instead of replays, loops of the device that are made from now on
   */
  rebind(
    graph: CapturedGraph,
    from: readonly (Place | undefined)[] = [],
    to: readonly Place[] = [],
    ofLoops = false,
  ): void {
    const { kernel } = this.#copier;
    for (const { first, args, point } of this.#launches) {
      if (kernel === undefined || point === undefined) continue;
      const own = from.slice(first, first + MOST_PIECES);
      const sizes = own.map((one, at) => ({
        bytes: one === undefined ? 0 : (this.#bytes[first + at] as number),
      }));
      own.forEach((one, at) => {
        if (one !== undefined) this.#pointPiece(args, at, one, to[first + at] as Place);
      });
      kernel.setScalars(args, pieceScalars(sizes));
      if (sizes.every(({ bytes }) => bytes === 0)) {
        // a graph launches at least one block
        args.geometry = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 };
      }
      kernel.replaceIn(graph, point, args, ofLoops);
    }
  }

  #point({ args }: Launch, from: readonly Place[], to: readonly Place[]): void {
    for (const [at, one] of from.entries()) this.#pointPiece(args, at, one, to[at] as Place);
  }

  #pointPiece({ packer }: KernelArguments, at: number, from: Place, to: Place): void {
    packer.setPointer(1 + at, from.storage.address + from.byteOffset);
    packer.setPointer(1 + MOST_PIECES + at, to.storage.address + to.byteOffset);
  }
}

function setPlace(
  kernel: DeviceKernel,
  args: KernelArguments,
  index: number,
  { storage, byteOffset }: Place,
): void {
  if (storage.isCaptured) args.packer.setPointer(index, storage.address + byteOffset);
  else kernel.setPointer(args, index, storage, byteOffset, undefined);
}

/** Bytes from one place to another. */
export function copyBytes(
  device: DeviceCore,
  to: Place,
  from: Place,
  bytes: number,
  stream: StreamCore,
): void {
  if (!from.storage.isCaptured) from.storage.beforeRead(stream);
  to.storage.beforeWrite(stream);
  device.move(to.storage, to.byteOffset, from.storage, from.byteOffset, bytes, stream);
  if (!from.storage.isCaptured) from.storage.noteRead(stream);
  to.storage.noteWrite(stream);
}
