import type { Command } from 'commander';
import { measureAutodiffPeers } from '../bench/autodiff/autodiff-peers.js';
import {
  AUTODIFF_NAMES,
  type AutodiffName,
  type AutodiffRow,
} from '../bench/autodiff/autodiff-row.js';
import { measureAutodiff } from '../bench/autodiff/measure-autodiff.js';
import type { Spread } from '../bench/statistics.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { measureNamed, sub, withNames, type NamedBenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

/** `mercer bench autodiff`. */
export function benchAutodiffCommand(): Command {
  return withNames(
    sub(
      'autodiff',
      'a training step, chains and broadcasts of elementwise operations and gradients of Gaussian sums, beside torch and JAX',
    ),
    AUTODIFF_NAMES,
    'torch or JAX',
  ).action(action(autodiff));
}

async function autodiff(output: Output, options: NamedBenchOptions<AutodiffName>): Promise<void> {
  await measureNamed<AutodiffName, AutodiffRow>(output, options, {
    suite: 'autodiff',
    names: AUTODIFF_NAMES,
    unit: 'microseconds of a call; errors are the largest difference from float64 by the largest value',
    measure: measureAutodiff,
    measurePeers: measureAutodiffPeers,
    render,
  });
}

function render(output: Output, rows: readonly AutodiffRow[]): string {
  const us = (times: Spread | undefined): string =>
    times === undefined ? '-' : `${significant(times.median)} us`;
  const number = (value: number | undefined): string =>
    value === undefined ? '-' : significant(value);
  const lines = AUTODIFF_NAMES.flatMap((name) =>
    rows
      .filter(({ operation }) => operation === name)
      .map((row) => [
        `${name} ${row.n}`,
        `${row.library}, ${row.way}`,
        us(row.us),
        us(row.host?.idleUs),
        us(row.host?.busyUs),
        row.floorUs === undefined ? '-' : `${significant(row.floorUs)} us`,
        number(row.peakSizes),
        row.error.toExponential(1),
      ]),
  );
  const heads = ['time', 'host, idle', 'host, busy', 'floor', 'memory', 'error'];
  const table = output.table(
    [
      { head: 'operation' },
      { head: 'library' },
      ...heads.map((head) => ({ head, align: 'right' as const })),
    ],
    lines,
  );
  return `${output.heading('Time of a call, median')}\n${table}`;
}
