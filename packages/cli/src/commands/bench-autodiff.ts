import type { Command } from 'commander';
import { measureAutodiffPeers } from '../bench/autodiff/autodiff-peers.js';
import {
  AUTODIFF_NAMES,
  type AutodiffName,
  type AutodiffRow,
} from '../bench/autodiff/autodiff-row.js';
import { measureAutodiff } from '../bench/autodiff/measure-autodiff.js';
import { commandLine, describeMachine } from '../bench/machine.js';
import { defaultPython } from '../bench/peers.js';
import type { Spread } from '../bench/statistics.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseList } from '../options/parse-option.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { sub, writeJson, type BenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface AutodiffOptions extends BenchOptions {
  readonly operations: readonly AutodiffName[];
  readonly python?: string;
  readonly peers: boolean;
}

/** `mercer bench autodiff`. */
export function benchAutodiffCommand(): Command {
  return sub(
    'autodiff',
    'a training step, chains of elementwise operations and gradients of Gaussian sums, beside torch and JAX',
  )
    .option(
      '--operations <list>',
      AUTODIFF_NAMES.join(', '),
      parseList(parseChoice<AutodiffName>(AUTODIFF_NAMES)),
      [...AUTODIFF_NAMES],
    )
    .option('--python <path>', 'the Python that has torch or JAX; MERCER_PYTHON, else python3')
    .option('--no-peers', 'do not look for other libraries')
    .action(action(autodiff));
}

async function autodiff(output: Output, options: AutodiffOptions): Promise<void> {
  await assertWritable(options.out);
  const device = chooseDevice(options.device);
  const names = AUTODIFF_NAMES.filter((name) => options.operations.includes(name));
  const startedAt = new Date().toISOString();
  const rows = await measureAutodiff(device, names, (name) => output.progress.update(name));
  const python = options.peers ? (options.python ?? defaultPython()) : undefined;
  output.progress.update('peers');
  const peers = python && (await measureAutodiffPeers(python, device, names));
  const result = {
    schema: 1,
    suite: 'autodiff',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit: 'microseconds of a call; errors are the largest difference from float64 by the largest value',
    rows,
    ...(peers === undefined || peers === '' ? {} : { peers }),
  };
  await writeJson(options.out, result);
  output.result(result, () => {
    const missing = (result.peers?.missing ?? []).map((why) => `\nNot measured: ${why}`);
    return `${render(output, [...rows, ...(result.peers?.rows ?? [])])}${missing.join('')}`;
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
