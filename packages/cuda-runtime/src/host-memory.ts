import { misuse } from './errors.js';

/** Host memory: a buffer or a view of one, shared ones included. */
export type HostMemory = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** The bytes of any host memory. A buffer that may shrink under the device's copy is refused. */
export function bytesOf(memory: HostMemory): Uint8Array {
  const buffer = ArrayBuffer.isView(memory) ? memory.buffer : memory;
  if ((buffer as { resizable?: boolean }).resizable === true) {
    throw misuse(
      'INVALID_ARGUMENT',
      'A resizable ArrayBuffer may shrink while the device reads or writes it. Copy to a fixed one first.',
    );
  }
  if (memory instanceof Uint8Array) return memory;
  return ArrayBuffer.isView(memory)
    ? new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength)
    : new Uint8Array(memory);
}
