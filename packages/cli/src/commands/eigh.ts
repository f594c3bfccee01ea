import { eigh } from '@mercer/core';
import { Command } from 'commander';
import { computeToFiles, renderFiles, type ComputeOptions } from '../files/compute-to-file.js';
import { parseChoice } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { IN_FILE, OUT_FILE, withComputeOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

const TRIANGLES = ['lower', 'upper'] as const;

interface EighOptions extends CommonOptions, ComputeOptions {
  readonly values: string;
  readonly vectors?: string;
  readonly uplo: (typeof TRIANGLES)[number];
}

/** `mercer eigh A.npy --values W.npy --vectors V.npy`: eigenvalues and eigenvectors of symmetric matrices. */
export function eighCommand(): Command {
  return withComputeOptions(
    new Command('eigh')
      .argument('<A>', `a symmetric matrix (optionally batched), ${IN_FILE}`)
      .requiredOption('--values <file>', `where the eigenvalues go: ${OUT_FILE}`)
      .option('--vectors <file>', 'where the eigenvectors go; without it they are not written')
      .option(
        '--uplo <triangle>',
        `the triangle that is read: ${TRIANGLES.join(' or ')}`,
        parseChoice(TRIANGLES),
        'lower',
      ),
    'cpu (the default) or a GPU such as cuda:0',
  ).action(action(run));
}

async function run(output: Output, options: EighOptions, args: string[]): Promise<void> {
  const [file = ''] = args;
  const { values, vectors, uplo } = options;
  const placed = { device: 'cpu', ...options } as const;
  const outs = vectors === undefined ? [values] : [values, vectors];
  const summary = await computeToFiles(output, [file], outs, placed, async ([a]) => {
    const found = await eigh(a, { uplo, checkErrors: true });
    if (vectors !== undefined) return [found.values, found.vectors];
    found.vectors.dispose();
    return [found.values];
  });
  output.result({ ...summary, uplo }, () =>
    renderFiles(summary, ['eigenvalues', 'eigenvectors in columns']),
  );
}
