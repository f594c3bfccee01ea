import {
  device as deviceOf,
  dtypeBytes,
  MercerError,
  tensor,
  type Device,
  type Tensor,
} from '@mercer/tensor';
import { assertNotPreparing, isRowReader } from '@mercer/tensor/operation';
import type { ReductionOptions } from '../call-options.js';
import { hasLayout } from '../host-shape.js';
import { describeInput, type Input } from '../input.js';
import type { LazyDType } from '../lazy-dtype.js';
import { LazyError } from '../lazy-error.js';

type PlacedOptions = Pick<ReductionOptions, 'stream' | 'device' | 'devices'>;

/** @throws LazyError for options that do not go with blocks */
export function refuseBeside(what: string, { stream, device, devices }: PlacedOptions): void {
  assertNotPreparing(what, 'computes block by block');
  const fail = (why: string): never => {
    throw new LazyError('INVALID_ARGUMENT', `${what}: ${why}`);
  };
  const cut = 'rows that are cut into blocks (devices, maxBytes, onProgress, or rows of a file)';
  if (stream !== undefined)
    fail(`stream is for one launch, and there are several beside ${cut}. Leave it out.`);
  if (device !== undefined && devices !== undefined)
    fail(`device and devices both say where it is computed. Leave device out.`);
}

/** Where a call without `devices` computes. */
export function oneDevice(
  inputs: readonly Input[],
  { device: where }: PlacedOptions,
  outs: readonly (Tensor | undefined)[],
): Device {
  const known = inputs.find((one) => one.device !== undefined)?.device;
  const out = outs.find((one) => one !== undefined)?.device;
  return where === undefined ? (known ?? out ?? deviceOf()) : deviceOf(where);
}

/** The tensors that formulas read. */
export const tensorsOf = (inputs: readonly Input[], used: ReadonlySet<number>): Tensor[] =>
  inputs.flatMap(({ source }, place) =>
    source.kind === 'tensor' && used.has(place) ? [source.tensor] : [],
  );

/** @throws MercerError DISPOSED, DEVICE_MISMATCH */
export function checkInputs(
  what: string,
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  devices: readonly Device[],
): void {
  for (const one of tensorsOf(inputs, used)) one.assertAlive();
  for (const one of inputs) {
    const { device } = one;
    if (device === undefined || device.kind === 'cpu' || devices.includes(device)) continue;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${describeInput(one)} is on ${device.id}, and it is computed on ${devices.map(({ id }) => id).join(', ')}. ` +
        `Inputs lie in host memory or on one of these: name ${device.id} among the devices, or move it.`,
    );
  }
}

/** The inputs with tensors of their own: callers may dispose of theirs while blocks are still to be read. They are pushed to `made`. */
export const held = (inputs: readonly Input[], made: Tensor[]): readonly Input[] =>
  inputs.map((one): Input => {
    if (one.source.kind !== 'tensor') return one;
    const tensor = one.source.tensor.view();
    made.push(tensor);
    return { ...one, source: { kind: 'tensor', tensor } };
  });

/** The inputs with numbers and nested arrays, of which no part can be taken, as tensors of the host. */
export async function withLayouts(
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  dtype: LazyDType,
  made: Tensor[],
): Promise<readonly Input[]> {
  const all: Input[] = [];
  for (const [place, one] of inputs.entries()) {
    const { source } = one;
    const isWhole = source.kind !== 'data' || !used.has(place);
    if (isWhole || isRowReader(source.data) || hasLayout(source.data)) {
      all.push(one);
      continue;
    }
    const x = await tensor(source.data, { device: 'cpu', dtype });
    made.push(x);
    all.push({ ...one, source: { kind: 'tensor', tensor: x } });
  }
  return all;
}

/** Bytes of the inputs that formulas read: of parameters and tables as they are, and of the others for each row, or for each pair. */
export function inputBytes(
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  dtype: LazyDType,
): Readonly<Record<Input['category'], number>> {
  const bytes = { i: 0, j: 0, pair: 0, parameter: 0 };
  for (const [place, one] of inputs.entries()) {
    const { category, extent, source, dim } = one;
    // Also what lies on a device already, so that the number of devices changes nothing.
    if (!used.has(place) || extent === undefined) continue;
    const width = source.kind === 'tensor' ? dtypeBytes(source.tensor.dtype) : dtypeBytes(dtype);
    const entries = extent.batchShape.reduce((product, size) => product * size, 1);
    const rows = category === 'parameter' ? extent.rows : 1;
    bytes[category] += entries * rows * dim * width;
  }
  return bytes;
}
