import { devices } from '@mercer/core';
import { writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { CliError } from '../cli-error.js';
import type { DemoResult, DemoRun } from '../digits/demo-result.js';
import { digitsReport } from '../digits/digits-report.js';
import { DIGIT_PIXELS, loadDigits } from '../digits/load-digits.js';
import { DEMO_NEIGHBOURS, runDemo } from '../digits/run-demo.js';
import { splitDigits } from '../digits/split-digits.js';
import { assertWritable } from '../files/assert-writable.js';
import { parseDevice, parseList, parseP, type DeviceId } from '../options/parse-option.js';
import { formatMs, formatP } from '../output/format.js';
import type { Output } from '../output/output.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface DigitsOptions extends CommonOptions {
  readonly out: string;
  readonly device?: readonly DeviceId[];
  readonly p: readonly number[];
}

/** `mercer demo digits`: real digits classified by generated kernels, with a report to look at. */
export function demoCommand(): Command {
  const command = new Command('demo').description('see it work on real data');
  command.addCommand(
    withCommonOptions(
      new Command('digits')
        .description(
          'name a fifth of 10,000 handwritten digits by their nearest neighbours among the rest',
        )
        .option('--out <file>', 'where the report goes', 'report.html')
        .option(
          '--device <ids>',
          'devices to run on, such as cpu,cuda:0; the first GPU and the CPU when they work',
          parseList(parseDevice),
        )
        .option(
          '--p <list>',
          'exponents of the norms, such as 1,2,inf',
          parseList(parseP),
          [1, 1.3, 2],
        ),
    ).action(action(run)),
  );
  return command;
}

async function run(output: Output, options: DigitsOptions): Promise<void> {
  await assertWritable(options.out);
  output.progress.update('loading the digits');
  const split = splitDigits(loadDigits());
  const runs: DemoRun[] = [];
  const failures: unknown[] = [];
  for (const id of options.device ?? defaultDevices()) {
    try {
      runs.push(
        ...(await runDemo(split, id, options.p, (text) => {
          output.progress.update(text);
        })),
      );
    } catch (error) {
      if (options.device !== undefined) throw error;
      failures.push(error);
      output.note(`note: ${id} is left out: ${messageOf(error)}`);
    }
  }
  if (runs.length === 0) {
    throw new CliError(
      'NO_BACKEND',
      'Cannot run the demo: no device works. Run mercer doctor to see what is missing.',
      { cause: failures[0] },
    );
  }
  const { cpu, node, platform } = describeMachine();
  const result: DemoResult = {
    command: commandLine(),
    trainCount: split.train.count,
    testCount: split.test.count,
    pixelCount: DIGIT_PIXELS,
    k: DEMO_NEIGHBOURS,
    machine: { cpu, node, platform },
    runs,
    startedAt: new Date().toISOString().slice(0, 10),
  };
  await writeFileWhole(options.out, [Buffer.from(digitsReport(result, split))]);
  print(output, result, options.out);
}

/** The first GPU and the CPU; a CPU that cannot compile is found out when it is used. */
function defaultDevices(): DeviceId[] {
  const ids = devices().map((device) => device.id);
  const gpu = ids.find((id) => id.startsWith('cuda'));
  return gpu === undefined ? ['cpu'] : [gpu, 'cpu'];
}

function print(output: Output, result: DemoResult, report: string): void {
  const runs = result.runs.map(({ classification, ...run }) => ({
    ...run,
    accuracy: classification.accuracy,
    correct: classification.correct,
    confusion: classification.confusion,
  }));
  output.result({ ...result, runs, report }, () =>
    [
      `${result.testCount} held-out MNIST digits, ${result.k} nearest of ${result.trainCount}, ${result.pixelCount} pixels each:`,
      '',
      output.table(
        [
          { head: 'p' },
          { head: 'device' },
          { head: 'accuracy', align: 'right' },
          { head: 'distances', align: 'right' },
          { head: 'copy and vote', align: 'right' },
          { head: 'first call', align: 'right' },
        ],
        runs.map((run) => [
          formatP(run.p),
          run.device,
          `${(run.accuracy * 100).toFixed(2)}%`,
          formatMs(run.distanceMs),
          formatMs(run.voteMs),
          formatMs(run.firstMs),
        ]),
      ),
      '',
      `Confusion matrices and every mistake as a picture: ${report}`,
    ].join('\n'),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
