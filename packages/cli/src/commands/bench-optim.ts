import type { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { measureOptim } from '../bench/optim/measure-optim.js';
import { measureOptimPeers } from '../bench/optim/optim-peers.js';
import { OPTIM_NAMES, type OptimName, type OptimRow } from '../bench/optim/optim-row.js';
import { defaultPython } from '../bench/peers.js';
import type { Spread } from '../bench/statistics.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseList } from '../options/parse-option.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { sub, writeJson, type BenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface OptimOptions extends BenchOptions {
  readonly operations: readonly OptimName[];
  readonly python?: string;
  readonly peers: boolean;
}

/** `mercer bench optim`. */
export function benchOptimCommand(): Command {
  return sub('optim', 'steps of optimisers over many tensors, beside torch')
    .option(
      '--operations <list>',
      OPTIM_NAMES.join(', '),
      parseList(parseChoice<OptimName>(OPTIM_NAMES)),
      [...OPTIM_NAMES],
    )
    .option('--python <path>', 'the Python that has torch; MERCER_PYTHON, else python3')
    .option('--no-peers', 'do not look for other libraries')
    .action(action(optim));
}

async function optim(output: Output, options: OptimOptions): Promise<void> {
  await assertWritable(options.out);
  const device = chooseDevice(options.device);
  const names = OPTIM_NAMES.filter((name) => options.operations.includes(name));
  const startedAt = new Date().toISOString();
  const rows = await measureOptim(device, names, (name) => output.progress.update(name));
  const python = options.peers ? (options.python ?? defaultPython()) : undefined;
  output.progress.update('peers');
  const peers = python && (await measureOptimPeers(python, device, names));
  const result = {
    schema: 1,
    suite: 'optim',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit: 'microseconds of a step; errors are the largest difference of parameters from float64 after three steps, by the largest parameter',
    rows,
    ...(peers === undefined || peers === '' ? {} : { peers }),
  };
  await writeJson(options.out, result);
  output.result(result, () => {
    const missing = (result.peers?.missing ?? []).map((why) => `\nNot measured: ${why}`);
    return `${render(output, [...rows, ...(result.peers?.rows ?? [])])}${missing.join('')}`;
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
      ]),
  );
  const heads = ['time', 'host, idle', 'host, busy', 'floor', 'error'];
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
