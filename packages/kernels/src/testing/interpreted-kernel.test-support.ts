import { cpu, type CpuFunction, type HostBuffer } from '@mercer/cpu-runtime';
import type { BuiltinKernel, CpuKernel } from '../emitted-kernel.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import type { HarnessBuffer } from './cpu-harness.test-support.js';

const GUARD = 256;
const MARK = 0xa5;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Runs the program of a host kernel on the prebuilt interpreter, or a built-in function of the addon, once, with the instructions of a level; buffers that it
 * writes are changed in place. Every buffer is followed by bytes that must stay as they are.
 */
export function runInterpretedKernel(
  kernel: CpuKernel | BuiltinKernel,
  level: CpuLevel,
  params: Uint8Array,
  buffers: readonly HarnessBuffer[],
  geometry: { readonly tasks: number; readonly chunk: number; readonly scratchBytes: number },
): void {
  const fn = functionOf(kernel, level, params.byteLength);
  const view = new DataView(params.buffer, params.byteOffset, params.byteLength);
  const hosts = buffers.map(({ at, memory }) => {
    const host = cpu.allocate(memory.byteLength + GUARD);
    const bytes = bytesOf(host).fill(MARK);
    bytes.set(new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength));
    view.setBigUint64(at, host.address, true);
    return host;
  });
  const stream = cpu.createStream();
  if (geometry.tasks > 0) {
    fn.launch(geometry, stream, params, hosts);
  }
  while (!stream.query()) Atomics.wait(sleeper, 0, 0, 0.1);
  stream.dispose();
  hosts.forEach((host, i) => {
    const bytes = bytesOf(host);
    const { memory, written } = buffers[i] as HarnessBuffer;
    const length = memory.byteLength;
    if (!bytes.subarray(length).every((byte) => byte === MARK)) {
      throw new Error(`${kernel.name} wrote behind the end of buffer ${i}`);
    }
    const target = new Uint8Array(memory.buffer, memory.byteOffset, length);
    if (written) target.set(bytes.subarray(0, length));
    else if (Buffer.compare(target, bytes.subarray(0, length)) !== 0) {
      throw new Error(`${kernel.name} wrote to buffer ${i}, which it only reads`);
    }
    host.dispose();
  });
}

/** A view for use before the next allocation. */
const bytesOf = (host: HostBuffer): Uint8Array =>
  new Uint8Array(host.arrayBuffer, host.byteOffset, host.bytes);

function functionOf(
  kernel: CpuKernel | BuiltinKernel,
  level: CpuLevel,
  paramBytes: number,
): CpuFunction {
  const { name } = kernel;
  if (kernel.dialect === 'builtin') return cpu.builtin(kernel.entry, { level });
  if (kernel.program === undefined) throw new Error(`${name} has no program`);
  return cpu.interpret(kernel.program, { paramBytes, name, level });
}

// The layout that native/interpreter/program.cc reads.
const [VERSION, MAP, FLOAT32, COPY] = [7, 0, 0, 0];
const [CONSTANT, REGISTER] = [0, 4];
const REGISTERS = 512;

/** Fills the first MiB of the scratch memory of a thread of the pool with NaN: of the only one, where there is one. */
export function fillScratchWithNaN(level: CpuLevel): void {
  const registers = Array.from({ length: REGISTERS }, (_, register) => register);
  const settings = [1, 1, 0, 0, 0, 1, 1]; // rank, one result, no inputs, row numbers and parameters; float32; one segment
  const launch = [0, 0, 0, 0];
  const slots = [CONSTANT, 0, ...registers.flatMap((register) => [REGISTER, register])];
  const copies = registers.flatMap((register) => [COPY, 1 + register, 0, -1, -1]);
  const value = [1 + REGISTERS, ...slots, REGISTERS, ...copies, 1, 1, REGISTERS];
  const words = [VERSION, MAP, FLOAT32, settings.length, ...settings, 2, ...launch, ...value];
  const params = new BigInt64Array([0n, 512n, 1n]); // out, a tile of elements, their stride
  const fn = cpu.interpret({ words, constants: [NaN] }, { paramBytes: params.byteLength, level });
  const out = cpu.allocate(4 * 512);
  params[0] = out.address;
  const stream = cpu.createStream();
  const geometry = { tasks: 1, chunk: 1, scratchBytes: 0 };
  fn.launch(geometry, stream, new Uint8Array(params.buffer), [out]);
  while (!stream.query()) Atomics.wait(sleeper, 0, 0, 0.1);
  if (!Number.isNaN(new Float32Array(out.arrayBuffer, out.byteOffset, 512)[511])) {
    throw new Error('filling scratch memory wrote something else');
  }
  for (const one of [out, stream, fn]) one.dispose();
}
