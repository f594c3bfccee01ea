import type { DeviceBuffer } from '@mercer/cuda-runtime';
import { pooledBytes } from './host-pool.js';
import type { NativeMemory } from './storage-block.js';
import type { StreamCore } from './stream-core.js';

/** Memory of a GPU. */
export interface DeviceMemoryBlock extends NativeMemory {
  readonly handle: DeviceBuffer;
  /** None for what a capture was given. */
  readonly allocatedOn: StreamCore | undefined;
}

/** Larger blocks go back to the driver: what computes so much hides what that takes. */
const LARGEST_KEPT = 2 ** 25;
/** Bytes that a stream keeps at most. */
const KEPT_LIMIT = 2 ** 26;

/** The size of a block for so many bytes; undefined for what is not kept. */
export function keptBytes(bytes: number): number | undefined {
  return bytes === 0 || bytes > LARGEST_KEPT ? undefined : pooledBytes(bytes);
}

/**
 * Blocks of a GPU's memory that a stream has allocated and that it alone has used, for its next results: whatever still runs with them
 * there comes first (docs/adr/0037).
 */
export class KeptMemory {
  readonly #bySize = new Map<number, DeviceMemoryBlock[]>();
  #bytes = 0;

  /** A block of just this size, with undefined content. */
  take(bytes: number): DeviceMemoryBlock | undefined {
    const block = this.#bySize.get(bytes)?.pop();
    if (block !== undefined) this.#bytes -= bytes;
    return block;
  }

  /** Keeps a block; false where it is of another size than is asked for, something else holds it, or there is no room. */
  keep(block: DeviceMemoryBlock): boolean {
    const { bytes } = block.handle;
    if (keptBytes(bytes) !== bytes || this.#bytes + bytes > KEPT_LIMIT) return false;
    if (block.handle.isHeld) return false;
    let blocks = this.#bySize.get(bytes);
    if (blocks === undefined) this.#bySize.set(bytes, (blocks = []));
    blocks.push(block);
    this.#bytes += bytes;
    return true;
  }

  /** Takes all out. */
  takeAll(): readonly DeviceMemoryBlock[] {
    const all = [...this.#bySize.values()].flat();
    this.#bySize.clear();
    this.#bytes = 0;
    return all;
  }
}
