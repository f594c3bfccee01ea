import { cdist } from '@mercer/core';
import { Command } from 'commander';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import { parseP } from '../options/parse-option.js';
import { formatP } from '../output/format.js';
import type { Output } from '../output/output.js';
import { IN_FILE, OUT_FILE, withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

interface CdistOptions extends CommonOptions, FileOptions {
  readonly p: number;
  readonly skipEpilogue?: boolean;
}

/** `mercer cdist A.npy B.npy --out D.npy`: distances between the rows of two files. */
export function cdistCommand(): Command {
  return withFileOptions(
    new Command('cdist')
      .argument('<A>', IN_FILE)
      .argument('<B>', 'the other rows')
      .option('--p <p>', "the norm's exponent: a number above 0, or inf", parseP, 2)
      .option('--skip-epilogue', 'leave out the final root: sums of |difference|^p'),
    `where the distances go: ${OUT_FILE}`,
  ).action(action(run));
}

async function run(output: Output, options: CdistOptions, args: string[]): Promise<void> {
  const { p, skipEpilogue = false } = options;
  const [fileA = '', fileB = ''] = args;
  const summary = await computeToFile(output, [fileA, fileB], options, ([a, b]) =>
    cdist(a, b, { p, skipEpilogue }),
  );
  output.result({ ...summary, p, skipEpilogue }, () =>
    renderFile(summary, `distances, p = ${formatP(p)}`),
  );
}
