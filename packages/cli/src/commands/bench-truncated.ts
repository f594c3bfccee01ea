import { writeFileWhole } from '@mercer/core/npy';
import type { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { measureTruncated, type TruncatedRow } from '../bench/truncated/measure-truncated.js';
import { plotTruncated } from '../bench/truncated/plot-truncated.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseCount, parseList, parsePositive } from '../options/parse-option.js';
import { formatMs, significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { sub, writeJson, type BenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface TruncatedBenchOptions extends BenchOptions {
  readonly points?: number;
  readonly dimensions: number;
  readonly bandwidths: readonly number[];
  readonly error: number;
  readonly plot?: string;
}

/** Points by the kind of a device. */
const POINTS = { cuda: 1_000_000, cpu: 20_000 } as const;

/** `mercer bench truncated`. */
export function benchTruncatedCommand(): Command {
  return sub(
    'truncated',
    'Gaussian sums over the pairs of clusters that an error leaves, beside the sums over all pairs: pairs, time and error over the bandwidth',
  )
    .option(
      '--points <n>',
      'uniform points in the unit cube; 1000000 on a GPU, 20000 on a CPU',
      parseCount,
    )
    .option('--dimensions <n>', 'of the points', parseCount, 3)
    .option(
      '--bandwidths <list>',
      'of exp(-r^2 / (2 h^2))',
      parseList(parsePositive),
      [0.03, 0.04, 0.05, 0.07, 0.1],
    )
    .option('--error <e>', 'what a pair that is left out counts at most', parsePositive, 1e-6)
    .option('--plot <file>', 'also draw an SVG plot')
    .action(action(truncated));
}

async function truncated(output: Output, options: TruncatedBenchOptions): Promise<void> {
  await assertWritable(options.out, options.plot);
  const device = chooseDevice(options.device);
  const { dimensions, bandwidths, error, points = POINTS[device.kind] } = options;
  const startedAt = new Date().toISOString();
  const problem = { points, dimensions, bandwidths, error };
  const rows = await measureTruncated(device, problem, (bandwidth) =>
    output.progress.update(`bandwidth ${bandwidth}`),
  );
  const result = {
    schema: 1,
    suite: 'truncated',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit: 'milliseconds of a call; errors are the largest difference from float64 by the sum of the weights',
    error,
    rows,
  };
  await writeJson(options.out, result);
  if (options.plot !== undefined) {
    await writeFileWhole(options.plot, [Buffer.from(plotTruncated(rows, device.name))]);
  }
  output.result(result, () => render(output, rows));
}

function render(output: Output, rows: readonly TruncatedRow[]): string {
  const lines = rows.map((row) => [
    significant(row.bandwidth),
    significant(row.cutoff),
    String(row.clusterRows),
    `${significant((100 * row.pairsKept) / row.points ** 2)}%`,
    significant(row.pairsRatio),
    formatMs(row.ms.median),
    formatMs(row.wholeMs.median),
    significant(row.timeByPairs),
    formatMs(row.rangesMs.median),
    row.error.toExponential(1),
    row.wholeError.toExponential(1),
  ]);
  const heads = [
    'cutoff',
    'cluster',
    'pairs kept',
    'by those within',
    'time',
    'whole sum',
    'time by pairs',
    'ranges',
    'error',
    'error of the whole',
  ];
  const table = output.table(
    [{ head: 'bandwidth' }, ...heads.map((head) => ({ head, align: 'right' as const }))],
    lines,
  );
  return `${output.heading('Truncated Gaussian sums, medians')}\n${table}`;
}
