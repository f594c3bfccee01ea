import { printable } from '@mercer/core/npy';
import { Command } from 'commander';
import { isStandardOutput, shownPath } from '../files/file-name.js';
import { readArray } from '../files/read-array.js';
import { floats, type FloatDType } from '../files/read-operand.js';
import { TransferProgress } from '../files/transfer-progress.js';
import { assertOutputs, writeArray } from '../files/write-array.js';
import { parseChoice } from '../options/parse-option.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { IN_FILE, OUT_FILE } from './with-file-options.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface ConvertOptions extends CommonOptions {
  readonly out: string;
  readonly dtype?: FloatDType;
}

/** `mercer convert A.csv:x,y --out A.parquet`: an array in another format, or columns of it. */
export function convertCommand(): Command {
  return withCommonOptions(
    new Command('convert')
      .argument('<A>', IN_FILE)
      .requiredOption('--out <file>', OUT_FILE)
      .option(
        '--dtype <type>',
        'convert the elements to float32 or float64',
        parseChoice<FloatDType>(['float32', 'float64']),
      ),
  ).action(action(run));
}

async function run(output: Output, options: ConvertOptions, args: string[]): Promise<void> {
  const [file = ''] = args;
  const { out, dtype } = options;
  await assertOutputs([out]);
  if (isStandardOutput(out)) output.resultsGoToStandardError();
  const start = performance.now();
  const found = await readArray(file, new TransferProgress(output.progress, 'reading').file());
  const array = dtype === undefined ? found : { ...found, dtype, data: floats(file, found, dtype) };
  const read = performance.now();
  await writeArray(out, array, new TransferProgress(output.progress, 'writing').file());
  const ms = { read: read - start, write: performance.now() - read };
  const { shape, names } = array;
  output.result({ out, shape, dtype: array.dtype, names, ms }, () => {
    const shown = isStandardOutput(out) ? shownPath('-', 'output') : printable(out);
    return `${shown}: ${shape.join(' x ')} ${array.dtype}, read ${formatMs(ms.read)}, wrote ${formatMs(ms.write)}`;
  });
}
