import { archOf, CudaDevice } from './device.js';
import { driverReport, nvrtcReport, requireDriver } from './library/open-libraries.js';
import type { LibraryReport } from './library/library-report.js';

/** A device as `cuda.report()` lists it, read without making a context. */
export interface DeviceSummary {
  readonly index: number;
  readonly name: string;
  readonly uuid: string;
  readonly computeCapability: readonly [major: number, minor: number];
  /** Real architecture with its suffix: `sm_90a`, `sm_86`. */
  readonly arch: string;
  readonly totalBytes: number;
}

/** What was found on this machine. */
export interface CudaReport {
  readonly driver: LibraryReport;
  readonly nvrtc: LibraryReport;
  readonly devices: readonly DeviceSummary[];
  /** Why the devices could not be listed, if they could not. */
  readonly error?: string;
}

const devices = new Map<number, CudaDevice>();

/** The CUDA driver. Nothing is opened before the first call. */
export const cuda = {
  /** True if the driver opens and sees at least one device. Never throws. */
  isAvailable(): boolean {
    try {
      return driverReport().found && requireDriver().deviceCount() > 0;
    } catch {
      return false;
    }
  },

  /** Libraries with every path tried, and the devices. Never throws. */
  report(): CudaReport {
    const found = { driver: driverReport(), nvrtc: nvrtcReport() };
    try {
      return { ...found, devices: found.driver.found ? summaries() : [] };
    } catch (error) {
      return {
        ...found,
        devices: [],
        error: error instanceof Error ? error.message : String(error),
      };
    }
  },

  /**
   * Number of devices; 0 if the driver sees none. Throws `LibraryNotFoundError` without a driver.
   *
   * @see cuDeviceGetCount: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html
   */
  deviceCount(): number {
    return requireDriver().deviceCount();
  },

  /**
   * The device with this index; the same object every time on one thread. Its primary context is retained.
   *
   * @see cuDevicePrimaryCtxRetain: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html
   */
  device(index = 0): CudaDevice {
    let device = devices.get(index);
    if (device === undefined) {
      const made = new CudaDevice(requireDriver(), index, () => {
        if (devices.get(index) === made) devices.delete(index);
      });
      devices.set(index, made);
      device = made;
    }
    return device;
  },
};

function summaries(): DeviceSummary[] {
  const addon = requireDriver();
  return Array.from({ length: addon.deviceCount() }, (_, index) => {
    const computeCapability = [
      addon.deviceAttribute(index, 75),
      addon.deviceAttribute(index, 76),
    ] as const;
    const arch = archOf(...computeCapability);
    return { index, ...addon.deviceInfo(index), computeCapability, arch };
  });
}
