import { defaultDevice, device, devices, type Device } from '@mercer/core';
import type { DeviceId } from './parse-option.js';

/**
 * The device that a command runs on: the one named, else what MERCER_DEVICE names, else the first GPU, else the CPU.
 * Commands print it, so the library's own notice of a missing GPU is not needed here.
 */
export function chooseDevice(id: DeviceId | undefined): Device {
  if (id !== undefined) return device(id);
  if ((process.env['MERCER_DEVICE'] ?? '') !== '') return defaultDevice();
  return devices()[0] ?? device('cpu');
}
