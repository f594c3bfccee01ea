import { planOf, tensor, type Device, type Tensor } from '@mercer/core';
import { printable } from '@mercer/core/npy';
import { chooseDevice } from '../options/choose-device.js';
import type { DeviceId } from '../options/parse-option.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { isStandardOutput, shownPath } from './file-name.js';
import { readOperands, type FloatDType, type Operand } from './read-operand.js';
import { TransferProgress } from './transfer-progress.js';
import { assertOutputs, writeArray } from './write-array.js';

/** Where a command computes, and in what. */
export interface ComputeOptions {
  readonly device?: DeviceId;
  readonly dtype?: FloatDType;
}

/** Options of every command that computes one file from others. */
export interface FileOptions extends ComputeOptions {
  readonly out: string;
}

/** One file written. */
interface WrittenFile {
  readonly out: string;
  readonly shape: readonly number[];
  readonly dtype: string;
}

/** What a command did that computes files. */
export interface FilesSummary {
  readonly files: readonly WrittenFile[];
  /** Of the first file. */
  readonly dtype: string;
  readonly device: string;
  readonly deviceName: string;
  readonly ms: { readonly read: number; readonly compute: number; readonly write: number };
}

/** What a command did that computes one file. */
export interface FileSummary extends Omit<FilesSummary, 'files'>, WrittenFile {
  readonly plan: unknown;
}

type Computed = Tensor<FloatDType>;

/** What is written: row numbers too. */
type Result = Computed | Tensor<'int32'>;

/** The operands of a command, as tensors. */
type Operands<F extends readonly string[]> = { readonly [I in keyof F]: Computed };

/** Reads operands, computes on the device, and writes the result as {@link computeToFiles} does. */
export async function computeToFile<const F extends readonly string[]>(
  output: Output,
  files: F,
  options: FileOptions,
  compute: (operands: Operands<F>, device: Device) => Promise<Computed>,
): Promise<FileSummary> {
  let plan: unknown;
  const { out } = options;
  const summary = await computeToFiles(output, files, [out], options, async (operands, device) => {
    const result = await compute(operands, device);
    plan = planOf(result);
    return [result];
  });
  const { files: written, ...rest } = summary;
  return { out, shape: written[0]?.shape ?? [], ...rest, plan };
}

/**
 * Reads operands, computes on the device, and writes one file for each name in `outs`, each whole or not at all. That they can
 * be written is checked before the work.
 */
export async function computeToFiles<const F extends readonly string[]>(
  output: Output,
  files: F,
  outs: readonly string[],
  options: ComputeOptions,
  compute: (operands: Operands<F>, device: Device) => Promise<readonly Result[]>,
): Promise<FilesSummary> {
  await assertOutputs(outs);
  if (outs.some(isStandardOutput)) output.resultsGoToStandardError();
  const start = performance.now();
  const reading = new TransferProgress(output.progress, 'reading');
  const operands = await readOperands(files, options.dtype, () => reading.file());
  const read = performance.now();
  const device = chooseDevice(options.device);
  output.progress.update('computing');
  const placed = (await placeAll(operands, device)) as Operands<F>;
  const results = await compute(placed, device);
  const contents = await Promise.all(results.map((result) => result.toTypedArray()));
  const computed = performance.now();
  const done: WrittenFile[] = [];
  for (const [i, out] of outs.entries()) {
    const [result, data] = [results[i], contents[i]];
    if (result === undefined || data === undefined) continue;
    const { shape, dtype } = result;
    const writing = new TransferProgress(output.progress, 'writing');
    await writeArray(out, { data, shape, dtype, fortranOrder: false }, writing.file());
    done.push({ out, shape, dtype });
  }
  const written = performance.now();
  return {
    files: done,
    dtype: results[0]?.dtype ?? 'float32',
    device: device.id,
    deviceName: device.name,
    ms: { read: read - start, compute: computed - read, write: written - computed },
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
    `${shownOut(out)}: ${shape.join(' x ')} ${dtype} ${what}, on ${device} (${deviceName})`,
    renderTimes(ms),
  ].join('\n');
}

/** Several files; `what` names each. */
export function renderFiles(summary: FilesSummary, what: readonly string[]): string {
  const { files, device, deviceName, ms } = summary;
  const lines = files.map(
    ({ out, shape, dtype }, i) =>
      `${shownOut(out)}: ${shape.join(' x ')} ${dtype} ${what[i] ?? ''}, on ${device} (${deviceName})`,
  );
  return [...lines, renderTimes(ms)].join('\n');
}

/** A result's name, as it was given. */
const shownOut = (out: string): string =>
  isStandardOutput(out) ? shownPath('-', 'output') : printable(out);

function renderTimes(ms: FilesSummary['ms']): string {
  return `read ${formatMs(ms.read)}, computed ${formatMs(ms.compute)} with compiling and copying, wrote ${formatMs(ms.write)}`;
}
