import { describeList, describeValue, own, type OptionNames } from '@mercer/options';
import type { Device, DeviceLike, Progress } from '../device.js';
import { device } from '../devices.js';
import { MercerError } from '../mercer-error.js';

/** Options of a call whose rows are cut into blocks. Any of them cuts, and so does data that is read as it is needed. */
export interface ShardOptions {
  /**
   * Devices that compute it together, such as `['cuda:0', 'cuda:1']`: each a share of the rows. Inputs may lie in host memory or on any of
   * them; the results are on the first. A device may stand there twice. Default: one device, as without the option.
   */
  readonly devices?: readonly DeviceLike[] | undefined;
  /**
   * Most bytes of each device that blocks of inputs and their results take. Default, with `devices`: half to three quarters of what is free
   * on the fullest of them.
   */
  readonly maxBytes?: number | undefined;
  /** Called when a block is computed, with blocks that are done, and all. What it throws rejects the call. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Names of {@link ShardOptions}. */
export const SHARD_OPTIONS: OptionNames<ShardOptions> = {
  devices: true,
  maxBytes: true,
  onProgress: true,
};

/** The options that cut rows, of those of a call. */
export function shardsOf(options: ShardOptions): ShardOptions {
  const { devices, maxBytes, onProgress } = own(options, 'devices', 'maxBytes', 'onProgress');
  return { devices, maxBytes, onProgress };
}

/** Whether the options of a call cut its rows into blocks. What is no object of options is refused where they are read. */
export function cutsRows(options: ShardOptions | undefined): boolean {
  if (typeof options !== 'object' || (options as ShardOptions | null) === null) return false;
  try {
    return Object.values(shardsOf(options)).some((one) => one !== undefined);
  } catch {
    return false; // a revoked Proxy
  }
}

/** @throws MercerError INVALID_ARGUMENT, NO_BACKEND for a device that this machine has not */
export function checkShardOptions(
  what: string,
  { devices, maxBytes, onProgress }: ShardOptions,
): readonly Device[] | undefined {
  const given: { readonly devices: unknown; readonly onProgress: unknown } = {
    devices,
    onProgress,
  };
  if (given.devices !== undefined && !(Array.isArray(given.devices) && given.devices.length > 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: devices is ${describeValue(devices)}. Pass a list with at least one, such as ['cuda:0', 'cuda:1'], or leave it out.`,
    );
  }
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: maxBytes is ${describeValue(maxBytes)}. Pass a whole number of bytes, or leave it out.`,
    );
  }
  if (given.onProgress !== undefined && typeof given.onProgress !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: onProgress is ${describeList(onProgress)}. Pass a function, or leave it out.`,
    );
  }
  // A hole in a list is no device, and not the default one.
  return devices && Array.from(devices, (one) => named(what, one));
}

function named(what: string, like: DeviceLike | undefined): Device {
  if (like !== undefined) return device(like);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: devices has undefined among its entries. Pass names such as 'cuda:0', or devices.`,
  );
}
