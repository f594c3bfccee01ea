import { readFile } from 'node:fs/promises';
import { device, type DeviceLike } from '@mercer/core';
import { writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import { best, type DeviceLimitsReport } from '../bench/limits.js';
import { measureLimits } from '../bench/measure-limits.js';
import { CliError } from '../cli-error.js';
import { assertWritable } from '../files/assert-writable.js';
import { formatBytes, formatMs, formatRate, formatShare } from '../output/format.js';
import type { Output } from '../output/output.js';
import { chromeTrace } from '../profile/chrome-trace.js';
import { runProfiled } from '../profile/run-profiled.js';
import { summarise, type DeviceRates, type KernelSummary } from '../profile/summarise.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface ProfileOptions extends CommonOptions {
  readonly trace?: string;
  /** A file of `mercer bench limits --json`, or false for none. */
  readonly limits?: string | boolean;
}

/** `mercer profile <command...>`: where a program's kernels spend their time. */
export function profileCommand(): Command {
  return withCommonOptions(
    new Command('profile')
      .argument('<command...>', 'the program and its arguments; a .js or .mjs file is run by Node')
      .passThroughOptions()
      .option('--trace <file>', 'also write a trace for chrome://tracing or Perfetto')
      .option(
        '--limits <file>',
        'limits from `mercer bench limits --json`; measured now without it',
      )
      .option('--no-limits', 'no shares of the limits'),
  ).action(action(run));
}

async function run(output: Output, options: ProfileOptions, command: string[]): Promise<void> {
  await assertWritable(options.trace);
  const { events, exitStatus, wallMs } = await runProfiled(command, output.json);
  const ids = [...new Set(events.map((event) => event.device))];
  const rates = await ratesOf(ids, options, output);
  const kernels = summarise(events, rates);
  if (options.trace !== undefined) {
    await writeFileWhole(options.trace, [Buffer.from(JSON.stringify(chromeTrace(events)))]);
  }
  const result = {
    command,
    exitStatus,
    wallMs,
    launches: events.length,
    kernels,
    trace: options.trace,
  };
  output.result(result, () => render(kernels, wallMs, output));
  if (exitStatus !== 0) {
    throw new CliError(
      'CHILD_FAILED',
      `The profiled program ended with status ${exitStatus}: the profile covers what it did until then. Run it by itself to see why.`,
    );
  }
}

async function ratesOf(
  ids: readonly string[],
  options: ProfileOptions,
  output: Output,
): Promise<Map<string, DeviceRates>> {
  const rates = new Map<string, DeviceRates>();
  if (options.limits === false) return rates;
  if (typeof options.limits === 'string') {
    const report = await readLimits(options.limits);
    rates.set(report.device, deviceRates(report));
    return rates;
  }
  for (const id of ids) {
    const report = await measureLimits(device(id as DeviceLike), (title) =>
      output.progress.update(`limits of ${id}: ${title}`),
    );
    rates.set(id, deviceRates(report));
  }
  return rates;
}

async function readLimits(path: string): Promise<DeviceLimitsReport> {
  let report: Partial<DeviceLimitsReport> | null = null;
  let cause: unknown;
  try {
    report = JSON.parse(await readFile(path, 'utf8')) as Partial<DeviceLimitsReport> | null;
  } catch (error) {
    cause = error;
  }
  if (typeof report?.device === 'string' && Array.isArray(report.limits)) {
    return report as DeviceLimitsReport;
  }
  throw new CliError(
    'BAD_LIMITS',
    `Cannot read the limits from '${path}': it is no output of \`mercer bench limits --json\`. Make one with that command.`,
    { cause },
  );
}

/** The fastest of each kind over all loops. */
function deviceRates(report: DeviceLimitsReport): DeviceRates {
  const entries = (['bytesPerSecond', 'issuePerSecond', 'specialPerSecond'] as const).map(
    (field) => [field, best(report, [], field)] as const,
  );
  return Object.fromEntries(entries.filter(([, rate]) => rate !== undefined));
}

function render(kernels: readonly KernelSummary[], wallMs: number, output: Output): string {
  if (kernels.length === 0) {
    return `The program ran ${formatMs(wallMs)} and launched no kernel. Does it use Mercer in this process?`;
  }
  const totalMs = kernels.reduce((sum, kernel) => sum + kernel.totalMs, 0);
  const table = output.table(
    [
      { head: 'kernel' },
      { head: 'device' },
      { head: 'calls', align: 'right' },
      { head: 'total', align: 'right' },
      { head: 'mean', align: 'right' },
      { head: 'of time', align: 'right' },
      { head: 'bytes', align: 'right' },
      { head: 'bandwidth', align: 'right' },
      { head: 'of bandwidth', align: 'right' },
      { head: 'of issue', align: 'right' },
    ],
    kernels.map((kernel) => [
      kernel.name,
      kernel.device,
      String(kernel.calls),
      formatMs(kernel.totalMs),
      formatMs(kernel.meanMs),
      formatShare(kernel.shareOfTime),
      kernel.bytes === undefined ? '-' : formatBytes(kernel.bytes),
      kernel.bytesPerSecond === undefined ? '-' : formatRate(kernel.bytesPerSecond, 'B/s'),
      formatShare(kernel.shareOfBandwidth),
      formatShare(kernel.shareOfIssue),
    ]),
  );
  return `${table}\n\nKernels took ${formatMs(totalMs)} of ${formatMs(wallMs)} (the program's whole life).`;
}
