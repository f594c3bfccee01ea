import { nvrtc, type CudaDevice, type DeviceBuffer } from '@mercer/cuda-runtime';
import { packParams } from '../kernel-param.js';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import type { HostMemory } from './cpu-harness.test-support.js';
import type { ProgramLaunch } from './cpu-program.test-support.js';

/** Runs the steps of a CUDA program on a GPU; buffers that a step writes are changed in place. */
export async function runGpuProgram(
  device: CudaDevice,
  program: KernelProgram<LaunchableKernel>,
  { scalars: common, pointers }: ProgramLaunch,
): Promise<void> {
  const stream = device.defaultStream;
  const workspace = new Uint8Array(program.workspaceBytes(common)).fill(255);
  const named: Readonly<Record<string, HostMemory | null>> = { workspace, ...pointers };
  const buffers = new Map<HostMemory, DeviceBuffer>();
  const written = new Set<HostMemory>();
  const addressOf = (memory: HostMemory | null | undefined): bigint => {
    if (memory === undefined) throw new TypeError('a pointer is missing');
    if (memory === null || memory.byteLength === 0) return 0n;
    const known = buffers.get(memory) ?? device.allocate(memory.byteLength, stream);
    if (!buffers.has(memory)) stream.copyToDeviceSync(known, 0, memory);
    buffers.set(memory, known);
    return known.address;
  };
  for (const { kernel, scalars: own } of program.steps) {
    const scalars = { ...common, ...own };
    if (kernel.dialect !== 'cuda') throw new TypeError(`${kernel.name} is no CUDA kernel`);
    const geometry = kernel.geometry(scalars);
    if (geometry.grid.includes(0)) continue;
    const options = [`--gpu-architecture=${device.arch}`];
    const { binary } = await nvrtc.compile({ source: kernel.source, options });
    const module = await device.loadModuleAsync(binary);
    const { offsets, bytes } = packParams(kernel.params);
    const packed = new DataView(new ArrayBuffer(bytes));
    kernel.params.forEach((param, i) => {
      const at = offsets[i] ?? 0;
      if (param.kind === 'pointer') {
        const memory = named[param.name];
        packed.setBigUint64(at, addressOf(memory), true);
        if (memory !== undefined && memory !== null && param.access !== 'read') written.add(memory);
      } else if (param.kind === 'scalar') {
        const value = scalars[param.name] ?? NaN;
        if (param.type === 'float64') packed.setFloat64(at, value, true);
        else packed.setBigInt64(at, BigInt(value), true);
      }
    });
    const entry = module.function(kernel.entry);
    if (geometry.sharedMemBytes > 0) entry.setMaxDynamicSharedMem(geometry.sharedMemBytes);
    entry.launch(geometry, stream, new Uint8Array(packed.buffer), Uint32Array.from(offsets));
    await stream.synchronize();
    module.dispose();
  }
  for (const memory of written) {
    const buffer = buffers.get(memory);
    if (buffer !== undefined) await stream.copyToHost(memory, buffer);
  }
  for (const buffer of buffers.values()) buffer.free();
}
