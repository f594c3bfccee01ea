import {
  device as deviceNamed,
  MercerError,
  type Device,
  type DeviceLike,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import {
  assertNotPreparing,
  flatArguments,
  isTraced,
  notDifferentiable,
  writesTraced,
} from '@mercer/tensor/operation';

/** Most bytes of a block of values of pairs that travels at a time. */
export const MAX_PAIR_BYTES = 2 ** 26;

/** @throws MercerError for what does not go with blocks */
export function refuseBesideBlocks(
  what: string,
  values: readonly unknown[],
  stream: Stream | undefined,
): void {
  assertNotPreparing(what, 'computes block by block');
  if (flatArguments(values).some(isTraced)) {
    throw notDifferentiable(
      what,
      'it is computed block by block (devices, maxBytes, onProgress, rows in host memory or of a file, or out in host memory)',
      'Leave these out: second derivatives, and those of parameters that are traced beside rows of a file, need all of it at once',
    );
  }
  if (stream === undefined) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: stream is for one launch, and a call with devices, maxBytes, onProgress, rows of a file or out in host memory has several. Leave it out.`,
  );
}

/** @throws MercerError NOT_DIFFERENTIABLE where results are to be written to what exists */
export function refuseTracedOut(
  what: string,
  inputs: readonly unknown[],
  options: { readonly out?: unknown } | undefined,
): void {
  if (options?.out === undefined || !inputs.some(isTraced)) return;
  throw writesTraced(what, 'the option out overwrites what it names');
}

/** Where a call without `devices` computes. */
export function oneDevice(device: DeviceLike | undefined, tensors: readonly Tensor[]): Device {
  if (device !== undefined) return deviceNamed(device);
  const gpu = tensors.find((one) => one.device.kind !== 'cpu');
  return (gpu ?? tensors[0])?.device ?? deviceNamed();
}

/** @throws MercerError DEVICE_MISMATCH */
export function checkDevices(
  what: string,
  inputs: readonly (Tensor | undefined)[],
  devices: readonly Device[],
): void {
  for (const one of inputs) {
    if (one === undefined || one.device.kind === 'cpu' || devices.includes(one.device)) continue;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${one.label} is on ${one.device.id}, and it is computed on ${devices.map(({ id }) => id).join(', ')}. ` +
        `Inputs lie in host memory or on one of these: name ${one.device.id} among the devices, or move it.`,
    );
  }
}

/** Tensors of a call on a device. */
export class MovedTensors implements Disposable {
  readonly #device: Device;
  readonly #made: Tensor[] = [];

  constructor(device: Device) {
    this.#device = device;
  }

  async all(tensors: readonly Tensor[], signal: AbortSignal): Promise<readonly Tensor[]> {
    const there: Tensor[] = [];
    for (const one of tensors) {
      if (one.device === this.#device) {
        there.push(one);
        continue;
      }
      const moved = await one.to(this.#device, { signal });
      this.#made.push(moved);
      there.push(moved);
    }
    return there;
  }

  [Symbol.dispose](): void {
    for (const one of this.#made) one.dispose();
  }
}
