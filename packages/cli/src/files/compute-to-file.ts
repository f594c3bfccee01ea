import { planOf, tensor, type Device, type Tensor } from '@mercer/core';
import { writeNpy } from '@mercer/core/npy';
import { usageError } from '../cli-error.js';
import { chooseDevice } from '../options/choose-device.js';
import type { DeviceId } from '../options/parse-option.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { assertWritable } from './assert-writable.js';
import { readOperands, type FloatDType, type Operand } from './read-operand.js';

/** Options of every command that computes one file from others. */
export interface FileOptions {
  readonly out: string;
  readonly device?: DeviceId;
  readonly dtype?: FloatDType;
}

/** What such a command did. */
export interface FileSummary {
  readonly out: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly device: string;
  readonly deviceName: string;
  readonly ms: { readonly read: number; readonly compute: number; readonly write: number };
  readonly plan: unknown;
}

type Computed = Tensor<FloatDType>;

/**
 * Reads operands, computes on the device, and writes the result whole or not at all. That it can be written is checked before
 * the work.
 */
export async function computeToFile<const F extends readonly string[]>(
  output: Output,
  files: F,
  options: FileOptions,
  compute: (operands: { readonly [I in keyof F]: Computed }, device: Device) => Promise<Computed>,
): Promise<FileSummary> {
  if (!options.out.endsWith('.npy')) {
    throw usageError(
      `Cannot write '${options.out}': results are written as .npy. End the name in .npy`,
    );
  }
  await assertWritable(options.out);
  output.progress.update('reading');
  const start = performance.now();
  const operands = await readOperands(files, options.dtype);
  const read = performance.now();
  const device = chooseDevice(options.device);
  output.progress.update('computing');
  const placed = (await placeAll(operands, device)) as { readonly [I in keyof F]: Computed };
  const result = await compute(placed, device);
  const data = await result.toTypedArray();
  const computed = performance.now();
  output.progress.update('writing');
  await writeNpy(options.out, { data, shape: result.shape });
  const written = performance.now();
  return {
    out: options.out,
    shape: result.shape,
    dtype: result.dtype,
    device: result.device.id,
    deviceName: result.device.name,
    ms: { read: read - start, compute: computed - read, write: written - computed },
    plan: planOf(result),
  };
}

async function placeAll(operands: readonly Operand[], device: Device): Promise<Computed[]> {
  const placed: Computed[] = [];
  for (const operand of operands)
    placed.push(await tensor(operand, { dtype: operand.dtype, device }));
  return placed;
}

/** The summary in two lines; `what` names the result, such as `distances, p = 2`. */
export function renderFile(summary: FileSummary, what: string): string {
  const { out, shape, dtype, device, deviceName, ms } = summary;
  return [
    `${out}: ${shape.join(' x ')} ${dtype} ${what}, on ${device} (${deviceName})`,
    `read ${formatMs(ms.read)}, computed ${formatMs(ms.compute)} with compiling and copying, wrote ${formatMs(ms.write)}`,
  ].join('\n');
}
