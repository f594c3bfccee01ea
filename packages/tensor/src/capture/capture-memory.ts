import type { StorageBlock } from '../storage-block.js';
import type { StreamCapture } from '../stream-core.js';

/** Who captures a stream, as devices see it: it has the memory for what is captured. */
export abstract class CaptureMemory implements StreamCapture {
  abstract readonly waitsForCompiler: boolean;
  isProvisional = false;
  /** For a tensor of captured work. */
  abstract allocate(bytes: number, purpose: string, zeroed: boolean): StorageBlock;
  /** Memory that lives as long as the captured work, and is not taken for anything else. */
  abstract hold(bytes: number, purpose: string): StorageBlock;
  abstract touch(storage: StorageBlock, writes: boolean): void;
  abstract begin(reads: readonly StorageBlock[], writes: readonly StorageBlock[]): void;
  abstract beginWithArguments(writes: readonly StorageBlock[]): void;
  abstract end(): void;
}
