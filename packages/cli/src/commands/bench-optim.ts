import type { Command } from 'commander';
import { measureOptim } from '../bench/optim/measure-optim.js';
import { measureOptimPeers } from '../bench/optim/optim-peers.js';
import { OPTIM_NAMES, type OptimName, type OptimRow } from '../bench/optim/optim-row.js';
import type { Spread } from '../bench/statistics.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { measureNamed, sub, withNames, type NamedBenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

/** `mercer bench optim`. */
export function benchOptimCommand(): Command {
  return withNames(
    sub('optim', 'steps of optimisers, inverse roots and gradients of each example, beside torch'),
    OPTIM_NAMES,
  ).action(action(optim));
}

async function optim(output: Output, options: NamedBenchOptions<OptimName>): Promise<void> {
  await measureNamed<OptimName, OptimRow>(output, options, {
    suite: 'optim',
    names: OPTIM_NAMES,
    unit: 'microseconds of a step; errors of sgd, adam and adamW are the largest difference of parameters from float64 after three steps, by the largest parameter; of roots the norm of X^4 A - I by that of I; of gradients of each example that of their mean; failures are refreshes in a row that computed no root',
    measure: measureOptim,
    measurePeers: measureOptimPeers,
    render,
  });
}

function render(output: Output, rows: readonly OptimRow[]): string {
  const us = (times: Spread | undefined): string =>
    times === undefined ? '-' : `${significant(times.median)} us`;
  const lines = OPTIM_NAMES.flatMap((name) =>
    rows
      .filter(({ operation }) => operation === name)
      .map((row) => [
        `${name}, ${row.n} in ${row.tensors}`,
        `${row.library}, ${row.way}`,
        us(row.us),
        us(row.host?.idleUs),
        us(row.host?.busyUs),
        row.floorUs === undefined ? '-' : `${significant(row.floorUs)} us`,
        row.error === undefined ? '-' : row.error.toExponential(1),
        `${row.failures ?? '-'}`,
      ]),
  );
  const heads = ['time', 'host, idle', 'host, busy', 'floor', 'error', 'failures'];
  const table = output.table(
    [
      { head: 'optimiser' },
      { head: 'library' },
      ...heads.map((head) => ({ head, align: 'right' as const })),
    ],
    lines,
  );
  return `${output.heading('Time of a step, median')}\n${table}`;
}
