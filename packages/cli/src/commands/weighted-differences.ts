import { weightedDifferences } from '@mercer/core';
import { Command } from 'commander';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import { parameterValue, shownValue } from '../options/parameter-value.js';
import { parseValue, type ParameterText } from '../options/parse-value.js';
import type { Output } from '../output/output.js';
import { IN_FILE, OUT_FILE, withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

interface WeightedDifferencesOptions extends CommonOptions, FileOptions {
  readonly p: ParameterText;
}

/** `mercer weighted-differences A.npy B.npy C.npy D.npy --out G.npy`: differences weighted and summed. */
export function weightedDifferencesCommand(): Command {
  return withFileOptions(
    new Command('weighted-differences')
      .argument('<A>', `kernel matrix (K, M), optionally batched: ${IN_FILE}`)
      .argument('<B>', 'data (N, K), a feature a row')
      .argument('<C>', 'coefficients (O, K)')
      .argument('<D>', 'data (N, M), a feature a row')
      .option(
        '--p <values>',
        'a number, a list with one for each batch entry, or a file such as p.npy',
        parseValue,
        {
          numbers: [2],
        },
      ),
    `where the sums (O, N, M) go: ${OUT_FILE}`,
  ).action(action(run));
}

async function run(
  output: Output,
  options: WeightedDifferencesOptions,
  args: string[],
): Promise<void> {
  const [a = '', b = '', c = '', d = ''] = args;
  const summary = await computeToFile(output, [a, b, c, d], options, async (operands, device) =>
    weightedDifferences(...operands, {
      p: await parameterValue(options.p, operands[0].dtype, device),
    }),
  );
  const p = shownValue(options.p);
  output.result({ ...summary, p }, () => renderFile(summary, `sums, p = ${String(p)}`));
}
