import process from 'node:process';
import { cuda } from '@mercer/cuda-runtime';
import { describeValue } from '@mercer/options';
import { CpuDevice } from './cpu-device.js';
import { assertCudaIndex, CudaDevice } from './cuda-device.js';
import { isDeviceCore, type DeviceCore } from './device-core.js';
import type { Device, DeviceLike } from './device.js';
import { hasKernelsFor } from './jit.js';
import { MercerError } from './mercer-error.js';
import { notice } from './notice.js';

let theCpu: CpuDevice | undefined;
const gpus = new Map<number, CudaDevice>();
let chosen: DeviceCore | undefined;

function cpuDevice(): CpuDevice {
  theCpu ??= new CpuDevice();
  return theCpu;
}

function cudaDevice(index: number): CudaDevice {
  let gpu = gpus.get(index);
  if (gpu === undefined) {
    assertCudaIndex(index);
    gpu = new CudaDevice(index);
    gpus.set(index, gpu);
  }
  return gpu;
}

/**
 * A device by name: 'cpu', 'cuda' (the first GPU) or 'cuda:1'. The same object every time; without a name, the default.
 *
 * @throws MercerError NO_BACKEND when this machine has no such device
 *
 * @example
 * ```ts
 * import { device } from '@mercer/tensor';
 *
 * const cpu = device('cpu');
 * console.log(cpu.id, cpu.limits.kind); // cpu cpu
 * ```
 */
export function device(like?: DeviceLike): Device {
  return deviceCore(like);
}

/** The same with the class that this package works with. */
export function deviceCore(like?: DeviceLike): DeviceCore {
  if (like === undefined) return defaultCore();
  if (isDeviceCore(like)) return like;
  if (like === 'cpu') return cpuDevice();
  const match = typeof like === 'string' ? /^cuda(?::(\d+))?$/.exec(like) : null;
  if (match === null) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `device: ${describeValue(like)} is not a device. Use 'cpu', 'cuda', 'cuda:0' or what device() returned.`,
    );
  }
  return cudaDevice(Number(match[1] ?? 0));
}

/** Every device of this machine that can compute: GPUs first, then the CPU. */
export function devices(): Device[] {
  const report = cuda.report();
  const usable = report.devices.filter(({ arch }) => report.nvrtc.found || hasKernelsFor(arch));
  return [...usable.map(({ index }) => cudaDevice(index)), cpuDevice()];
}

/**
 * Where tensors go when nothing says otherwise: what MERCER_DEVICE names, else the first GPU if the driver loads, and NVRTC
 * or there is a bundle of kernels for it, else the CPU, with one notice. Decided once; a failing call never changes it.
 */
export function defaultDevice(): Device {
  return defaultCore();
}

function defaultCore(): DeviceCore {
  chosen ??= choose();
  return chosen;
}

function choose(): DeviceCore {
  const forced = process.env['MERCER_DEVICE'];
  if (forced !== undefined && forced !== '') return deviceCore(forced as DeviceLike);
  const report = cuda.report();
  const [first] = report.devices;
  if (first !== undefined && (report.nvrtc.found || hasKernelsFor(first.arch)))
    return cudaDevice(0);
  const why = !report.driver.found
    ? 'no CUDA driver was found'
    : first === undefined
      ? 'the CUDA driver sees no GPU'
      : `NVRTC was not found, and no package with kernels for ${first.arch}`;
  notice(`computing on the CPU, because ${why}`, 'MERCER_DEVICE=cpu');
  return cpuDevice();
}

/** Devices that were used so far, for reports. */
export function openDevices(): readonly DeviceCore[] {
  return [...gpus.values(), ...(theCpu === undefined ? [] : [theCpu])];
}
