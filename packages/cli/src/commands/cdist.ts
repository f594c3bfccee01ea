import { cdist, planOf, tensor, type Tensor } from '@mercer/core';
import { writeNpy } from '@mercer/core/npy';
import { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { assertWritable } from '../files/assert-writable.js';
import { readOperands, type FloatDType, type Operand } from '../files/read-operand.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseDevice, parseP, type DeviceId } from '../options/parse-option.js';
import { formatMs, formatP } from '../output/format.js';
import type { Output } from '../output/output.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface CdistOptions extends CommonOptions {
  readonly p: number;
  readonly out: string;
  readonly device?: DeviceId;
  readonly dtype?: FloatDType;
  readonly skipEpilogue?: boolean;
}

/** `mercer cdist A.npy B.npy --out D.npy`: distances between the rows of two files. */
export function cdistCommand(): Command {
  return withCommonOptions(
    new Command('cdist')
      .description('distances between the rows of A and the rows of B, as a .npy file')
      .argument('<A>', 'a .npy file of rows (optionally batched), or file.npz:name')
      .argument('<B>', 'the other rows')
      .requiredOption('--out <file>', 'where the distances go (.npy)')
      .option('--p <p>', "the norm's exponent: a number above 0, or inf", parseP, 2)
      .option('--device <id>', 'cpu or cuda:0; the first GPU that works, else the CPU', parseDevice)
      .option('--dtype <type>', 'convert both inputs to float32 or float64 first', parseDType)
      .option('--skip-epilogue', 'leave out the final root: sums of |difference|^p'),
  ).action(action(run));
}

const parseDType = parseChoice<FloatDType>(['float32', 'float64']);

async function run(output: Output, options: CdistOptions, args: string[]): Promise<void> {
  const [fileA = '', fileB = ''] = args;
  if (!options.out.endsWith('.npy')) {
    throw usageError(
      `Cannot write '${options.out}': distances are written as .npy. End the name in .npy`,
    );
  }
  await assertWritable(options.out);
  output.progress.update('reading');
  const start = performance.now();
  const [a, b] = await readOperands(fileA, fileB, options.dtype);
  const read = performance.now();
  const target = chooseDevice(options.device);
  const place = (operand: Operand): Promise<Tensor<FloatDType>> =>
    tensor(operand, { dtype: operand.dtype, device: target });
  output.progress.update('computing');
  const [x, y] = [await place(a), await place(b)];
  const result = await cdist(x, y, { p: options.p, skipEpilogue: options.skipEpilogue ?? false });
  const data = await result.toTypedArray();
  const computed = performance.now();
  output.progress.update('writing');
  await writeNpy(options.out, { data, shape: result.shape });
  const written = performance.now();
  const summary = {
    out: options.out,
    shape: result.shape,
    dtype: result.dtype,
    p: options.p,
    skipEpilogue: options.skipEpilogue ?? false,
    device: result.device.id,
    deviceName: result.device.name,
    ms: { read: read - start, compute: computed - read, write: written - computed },
    plan: planOf(result),
  };
  output.result(summary, () =>
    [
      `${summary.out}: ${summary.shape.join(' x ')} ${summary.dtype} distances, p = ${formatP(options.p)}, on ${summary.device} (${summary.deviceName})`,
      `read ${formatMs(summary.ms.read)}, computed ${formatMs(summary.ms.compute)} with compiling and copying, wrote ${formatMs(summary.ms.write)}`,
    ].join('\n'),
  );
}
