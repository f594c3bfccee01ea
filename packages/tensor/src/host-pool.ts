import { cpu, type HostBuffer } from '@mercer/cpu-runtime';
import type { StreamCore, StreamUse } from './stream-core.js';

/** Larger buffers go back to the system at once: it hands out large pages quickly, and they would pin much memory. */
const LARGEST_POOLED = 2 ** 26;
const POOL_LIMIT = 2 ** 28;
const SMALLEST = 64;

/** The size that a buffer really gets: four steps per power of two, so at most a fifth is unused. */
export function pooledBytes(bytes: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  // whole numbers of 32 bits as far as they reach: each call of an operation comes here
  const eighth =
    bytes < 2 ** 31 ? 1 << (29 - Math.clz32(bytes - 1)) : 2 ** (Math.ceil(Math.log2(bytes)) - 3);
  const step = Math.max(SMALLEST, eighth);
  return Math.ceil(bytes / step) * step;
}

interface Spare {
  readonly buffer: HostBuffer;
  readonly stream: StreamCore;
}

/**
 * Host buffers kept for the next tensor of about the same size, in stream order: a buffer whose work was all on one
 * stream is used again on that stream at once, since whatever still runs there comes first.
 */
export class HostPool {
  readonly #spares = new Map<number, Spare[]>();
  #bytes = 0;

  /** Bytes kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A buffer of at least this size with undefined content. */
  take(bytes: number, stream: StreamCore): HostBuffer {
    if (bytes > LARGEST_POOLED) return cpu.allocate(bytes);
    const size = pooledBytes(bytes);
    const spares = this.#spares.get(size);
    if (spares !== undefined) {
      for (let i = spares.length - 1; i >= 0; i--) {
        const spare = spares[i];
        if (spare === undefined) continue;
        if (spare.stream !== stream) {
          // Nobody else will come for the buffers of a stream that is gone.
          if (!spare.stream.disposed) continue;
          stream.waitFor({ stream: spare.stream, seq: spare.stream.tail().seq });
        }
        spares[i] = spares.at(-1) ?? spare;
        spares.pop();
        this.#bytes -= size;
        return spare.buffer;
      }
    }
    return cpu.allocate(size);
  }

  /** Takes a buffer back, for good or for the next `take`. */
  give(buffer: HostBuffer, uses: readonly StreamUse[]): void {
    const size = buffer.bytes;
    const stream = uses[0]?.stream;
    const pooled =
      stream !== undefined &&
      size <= LARGEST_POOLED &&
      size === pooledBytes(size) &&
      this.#bytes + size <= POOL_LIMIT &&
      uses.every((use) => use.stream === stream);
    if (!pooled || stream.disposed) {
      buffer.dispose();
      return;
    }
    let spares = this.#spares.get(size);
    if (spares === undefined) this.#spares.set(size, (spares = []));
    spares.push({ buffer, stream });
    this.#bytes += size;
  }

  /** Gives everything back to the system. */
  clear(): void {
    for (const spares of this.#spares.values()) {
      for (const { buffer } of spares) buffer.dispose();
    }
    this.#spares.clear();
    this.#bytes = 0;
  }
}
