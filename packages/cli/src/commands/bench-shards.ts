import { device as deviceNamed } from '@mercer/core';
import type { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { measureShards, type ShardRow } from '../bench/shards/measure-shards.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseCount, parseList } from '../options/parse-option.js';
import { formatMs, significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { sub, writeJson, type BenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface ShardsOptions extends BenchOptions {
  readonly n?: readonly number[];
  readonly devices?: readonly string[];
  readonly maxBytes: number;
}

/** Points that take some tenths of a second: of a GPU, of a CPU. */
const POINTS = { cuda: 1_000_000, cpu: 20_000 } as const;
/** Less than a million points of both sides take, so that both are cut. */
const MAX_BYTES = 2 ** 24;

/** `mercer bench shards`. */
export function benchShardsCommand(): Command {
  return sub(
    'shards',
    'a Gaussian sum of points in device memory, streamed from the host, and on several devices',
  )
    .option('--n <list>', 'points', parseList(parseCount))
    .option('--devices <list>', 'instead of --device: cuda:0,cuda:1', parseList(String))
    .option('--max-bytes <bytes>', 'memory of blocks from the host', parseCount, MAX_BYTES)
    .action(action(shards));
}

async function shards(output: Output, options: ShardsOptions): Promise<void> {
  await assertWritable(options.out);
  const names = options.devices;
  const devices =
    names === undefined
      ? [chooseDevice(options.device)]
      : names.map((name) => deviceNamed(name as 'cpu'));
  const [device] = devices;
  if (device === undefined) throw new RangeError('parseList gives at least one');
  const startedAt = new Date().toISOString();
  const rows = await measureShards(
    devices,
    options.n ?? [POINTS[device.kind]],
    options.maxBytes,
    (way) => output.progress.update(way),
  );
  const result = {
    schema: 1,
    suite: 'shards',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    devices: devices.map(({ id, name }) => ({ id, name })),
    maxBytes: options.maxBytes,
    unit: 'milliseconds of a call; rates are pairs a second, shares those of one device with the points in its memory; errors are the largest difference from float64 by the largest value',
    rows,
  };
  await writeJson(options.out, result);
  output.result(result, () => render(output, rows));
}

function render(output: Output, rows: readonly ShardRow[]): string {
  const heads = ['points', 'time', 'pairs a second', 'by one in memory', 'error'];
  const table = output.table(
    [{ head: 'way' }, ...heads.map((head) => ({ head, align: 'right' as const }))],
    rows.map(({ n, way, ms, rate, share, error }) => [
      ...[way, String(n), formatMs(ms.median), rate.toExponential(2)],
      ...[significant(share), error.toExponential(1)],
    ]),
  );
  return `${output.heading('A Gaussian sum, median of five calls')}\n${table}`;
}
