import { fakeImage, useFakeDriver, useFakeSolvers } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { CudaDevice } from '../device.js';
import type { CudaStream } from '../stream.js';
import { cusolver } from './cusolver.js';

/** A device of the fake driver with what most calls of the fake cuSOLVER need. */
export interface SolverBench {
  readonly device: CudaDevice;
  readonly stream: CudaStream;
  /** The 64 bytes that most calls ask for. */
  readonly workspace: { readonly buffer: DeviceBuffer };
  readonly info: { readonly buffer: DeviceBuffer };
  upload(data: ArrayBufferView): Promise<DeviceBuffer>;
  doubles(buffer: DeviceBuffer): Promise<number[]>;
  infoValue(): Promise<number | undefined>;
}

/** Two devices; the handles of the first one's default stream are made. */
export async function solverBench(): Promise<SolverBench> {
  await useFakeDriver({ DEVICES: 2 });
  await useFakeSolvers();
  const device = cuda.device(0);
  const stream = device.defaultStream;
  await cusolver.prepare(stream);
  const info = { buffer: device.allocate(4, stream) };
  return {
    device,
    stream,
    workspace: { buffer: device.allocate(64, stream) },
    info,
    async upload(data) {
      const buffer = device.allocate(data.byteLength, stream);
      await stream.copyToDevice(buffer, 0, data);
      return buffer;
    },
    async doubles(buffer) {
      const out = new Float64Array(buffer.bytes / 8);
      await stream.copyToHost(out, buffer);
      return [...out];
    },
    async infoValue() {
      const out = new Int32Array(1);
      await stream.copyToHost(out, info.buffer);
      return out[0];
    },
  };
}

/** Launches a kernel that does nothing. */
export function launchIdle(device: CudaDevice, stream: CudaStream): void {
  const geometry = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 } as const;
  const kernel = device.loadModule(fakeImage('k()')).function('k');
  kernel.launch(geometry, stream, new Uint8Array(0), new Uint32Array(0));
}
