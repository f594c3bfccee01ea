import { cpu } from '@mercer/cpu-runtime';
import type { CpuKernel } from '../emitted-kernel.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import type { HarnessBuffer } from './cpu-harness.test.helper.js';

const GUARD = 256;
const MARK = 0xa5;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Runs the program of a host kernel once on the prebuilt interpreter, with the instructions of a level; buffers that it
 * writes are changed in place. Every buffer is followed by bytes that must stay as they are.
 */
export function runInterpretedKernel(
  kernel: CpuKernel,
  level: CpuLevel,
  params: Uint8Array,
  buffers: readonly HarnessBuffer[],
  geometry: { readonly tasks: number; readonly chunk: number; readonly scratchBytes: number },
): void {
  if (kernel.program === undefined) throw new Error(`${kernel.name} has no program`);
  const fn = cpu.interpret(kernel.program, {
    ...{ paramBytes: params.byteLength, name: kernel.name, level },
  });
  const view = new DataView(params.buffer, params.byteOffset, params.byteLength);
  const hosts = buffers.map(({ at, memory }) => {
    const host = cpu.allocate(memory.byteLength + GUARD);
    const bytes = new Uint8Array(host.arrayBuffer, host.byteOffset, host.bytes).fill(MARK);
    bytes.set(new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength));
    view.setBigUint64(at, host.address, true);
    return { host, bytes };
  });
  const stream = cpu.createStream();
  if (geometry.tasks > 0) {
    const used = hosts.map(({ host }) => host);
    fn.launch(geometry, stream, params, used);
  }
  while (!stream.query()) Atomics.wait(sleeper, 0, 0, 0.1);
  stream.dispose();
  hosts.forEach(({ host, bytes }, i) => {
    const { memory, written } = buffers[i] as HarnessBuffer;
    const length = memory.byteLength;
    if (!bytes.subarray(length).every((byte) => byte === MARK)) {
      throw new Error(`${kernel.name} wrote behind the end of buffer ${String(i)}`);
    }
    const target = new Uint8Array(memory.buffer, memory.byteOffset, length);
    if (written) target.set(bytes.subarray(0, length));
    else if (Buffer.compare(target, bytes.subarray(0, length)) !== 0) {
      throw new Error(`${kernel.name} wrote to buffer ${String(i)}, which it only reads`);
    }
    host.dispose();
  });
}
