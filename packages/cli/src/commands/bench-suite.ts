import { writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import type { Device } from '@mercer/core';
import { DATA_SETS, type DataSet } from '../bench/data-sets.js';
import { commandLine, describeMachine } from '../bench/machine.js';
import { measureBriefly } from '../bench/measuring-time.js';
import { defaultPython } from '../bench/peers.js';
import { plotReport, renderReport } from '../bench/render-report.js';
import { runSuite, type SuiteOptions } from '../bench/suite.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import {
  parseChoice,
  parseDevice,
  parseList,
  parseSeconds,
  type DeviceId,
} from '../options/parse-option.js';
import { jsonText } from '../output/json-text.js';
import type { Output } from '../output/output.js';
import { withCommonOptions, type CommonOptions } from './with-output.js';

/** Of every benchmark. */
export interface BenchOptions extends CommonOptions {
  readonly device?: DeviceId;
  readonly out?: string;
}

/** Of every suite of cells. */
export interface CellsBenchOptions extends BenchOptions {
  readonly maxSeconds: number;
  readonly peerSeconds?: number;
  readonly plot?: string;
  readonly python?: string;
  readonly peers: boolean;
}

/** What measuring takes of them. */
export interface MeasureOptions extends CellsBenchOptions {
  readonly data: readonly DataSet[];
  readonly compileTimes: boolean;
  readonly kermac?: string;
  readonly keops?: string;
}

/** A subcommand of `mercer bench`. */
export function sub(
  name: string,
  description: string,
  devices = 'cpu or cuda:0; the first GPU that works, else the CPU',
): Command {
  const command = new Command(name)
    .description(description)
    .option('--device <id>', devices, parseDevice)
    .option('--out <file>', 'also write the result as JSON');
  return withCommonOptions(command);
}

/** Adds the option of a first look. */
function withBrief(command: Command): Command {
  return command
    .option('--brief', 'a tenth of the calls and of the time: a first look, of a wide spread')
    .hook('preAction', () => {
      if (command.opts<{ readonly brief?: boolean }>().brief === true) measureBriefly();
    });
}

/** Adds the options of every suite of cells. */
export function withCells(command: Command): Command {
  return withBrief(command)
    .option('--max-seconds <s>', 'leave out cells whose one call takes longer', parseSeconds, 5)
    .option('--plot <file>', 'also draw an SVG plot')
    .option('--python <path>', 'the Python that has torch; MERCER_PYTHON, else python3')
    .option('--no-peers', 'do not look for other libraries')
    .option('--peer-seconds <s>', 'other libraries begin no cell after this time', parseSeconds);
}

/** Adds the choice of the data that errors are taken on. */
export function withData(command: Command): Command {
  return command.option(
    '--data <list>',
    `data for the errors: ${DATA_SETS.join(', ')}`,
    parseList(parseChoice(DATA_SETS)),
    [...DATA_SETS],
  );
}

/** Runs a suite, writes what was asked for and prints it. */
export async function measure(
  output: Output,
  options: MeasureOptions,
  what: Pick<SuiteOptions, 'suite' | 'cells'>,
): Promise<void> {
  await assertWritable(options.out, options.plot);
  const report = await runSuite({
    ...what,
    device: chooseDevice(options.device),
    dataSets: options.data,
    maxSecondsPerCell: options.maxSeconds,
    compileTimes: options.compileTimes,
    python: options.peers ? (options.python ?? defaultPython()) : undefined,
    kermacPath: options.kermac,
    keopsPath: options.keops,
    maxPeerSeconds: options.peerSeconds,
    onMeasured: (report) => writeJson(options.out, report),
    onProgress: (text, done, total) => output.progress.update(text, done, total),
  });
  await writeJson(options.out, report);
  if (options.plot !== undefined) {
    await writeFileWhole(options.plot, [Buffer.from(plotReport(report))]);
  }
  output.result(report, () => renderReport(report, output));
}

/** Of benchmarks of operations by name, beside other libraries. */
export interface NamedBenchOptions<N extends string> extends BenchOptions {
  readonly operations: readonly N[];
  readonly python?: string;
  readonly peers: boolean;
}

/** Adds the choice of operations and of other libraries. */
export function withNames(command: Command, names: readonly string[], peers = 'torch'): Command {
  return withBrief(command)
    .option('--operations <list>', names.join(', '), parseList(parseChoice(names)), [...names])
    .option('--python <path>', `the Python that has ${peers}; MERCER_PYTHON, else python3`)
    .option('--no-peers', 'do not look for other libraries');
}

/** A benchmark of operations by name, whose rows are those of this library and of others. */
interface NamedSuite<N extends string, R> {
  readonly suite: string;
  readonly names: readonly N[];
  readonly unit: string;
  readonly measure: (
    device: Device,
    names: readonly N[],
    onName: (name: string) => void,
  ) => Promise<readonly R[]>;
  readonly measurePeers: (
    python: string,
    device: Device,
    names: readonly N[],
  ) => Promise<{ readonly rows: readonly R[]; readonly missing: readonly string[] } | undefined>;
  readonly render: (output: Output, rows: readonly R[]) => string;
}

/** Measures operations by name, and the same of other libraries, writes what was asked for and prints it. */
export async function measureNamed<N extends string, R>(
  output: Output,
  options: NamedBenchOptions<N>,
  { suite, names: all, unit, measure, measurePeers, render }: NamedSuite<N, R>,
): Promise<void> {
  await assertWritable(options.out);
  const device = chooseDevice(options.device);
  const names = all.filter((name) => options.operations.includes(name));
  const startedAt = new Date().toISOString();
  const rows = await measure(device, names, (name) => output.progress.update(name));
  const python = options.peers ? (options.python ?? defaultPython()) : undefined;
  output.progress.update('peers');
  const peers = python === undefined ? undefined : await measurePeers(python, device, names);
  const result = {
    schema: 1,
    suite,
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit,
    rows,
    ...(peers === undefined ? {} : { peers }),
  };
  await writeJson(options.out, result);
  output.result(result, () => {
    const missing = (peers?.missing ?? []).map((why) => `\nNot measured: ${why}`);
    return `${render(output, [...rows, ...(peers?.rows ?? [])])}${missing.join('')}`;
  });
}

export async function writeJson(path: string | undefined, value: unknown): Promise<void> {
  if (path !== undefined) await writeFileWhole(path, [Buffer.from(`${jsonText(value)}\n`)]);
}
