import { devices } from '@mercer/core';
import { printable, writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { CliError } from '../cli-error.js';
import type { DemoResult, DemoRun, RidgeRun } from '../digits/demo-result.js';
import { digitsReport } from '../digits/digits-report.js';
import { DIGIT_PIXELS, loadDigits } from '../digits/load-digits.js';
import { linearAlgebraOf } from '../digits/linear-algebra.js';
import { methodRows, TIME_HEADS, TIMES_NOTE } from '../digits/method-rows.js';
import { DEMO_NEIGHBOURS, runDemo } from '../digits/run-demo.js';
import { whereItRan } from '../digits/ridge-section.js';
import { runRidge } from '../digits/run-ridge.js';
import type { Score } from '../digits/score.js';
import { splitDigits } from '../digits/split-digits.js';
import { assertWritable } from '../files/assert-writable.js';
import { parseDevice, parseList, parseP, type DeviceId } from '../options/parse-option.js';
import { formatMs, formatPercent } from '../output/format.js';
import type { Output } from '../output/output.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface DigitsOptions extends CommonOptions {
  readonly out: string;
  readonly device?: readonly DeviceId[];
  readonly p: readonly number[];
}

const RIDGE_NEEDS_LAPACK =
  'Kernel ridge regression is left out: neither cuSOLVER for a GPU nor a BLAS and LAPACK was found. Run mercer doctor to see what to install.';

/** `mercer demo digits`: real digits classified by generated kernels, with a report to look at. */
export function demoCommand(): Command {
  const command = new Command('demo');
  command.addCommand(
    withCommonOptions(
      new Command('digits')
        .description(
          'name a fifth of 10,000 handwritten digits by the rest: nearest neighbours and kernel ridge regression',
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
  const ridge: RidgeRun[] = [];
  let ridgeLeftOut: string | undefined;
  const failures: unknown[] = [];
  const onStep = (text: string): void => {
    output.progress.update(text);
  };
  for (const id of options.device ?? defaultDevices()) {
    try {
      const found = await runDemo(split, id, options.p, onStep);
      const algebra = linearAlgebraOf(id);
      if (algebra !== undefined) ridge.push(await runRidge(split, id, algebra, onStep));
      else if (ridgeLeftOut === undefined) {
        ridgeLeftOut = RIDGE_NEEDS_LAPACK;
        output.note(`note: ${ridgeLeftOut}`);
      }
      runs.push(...found);
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
    ridge,
    ...(ridgeLeftOut === undefined ? {} : { ridgeLeftOut }),
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
    ...plainScore(classification),
  }));
  const ridge = result.ridge.map(({ score, path: { heldOut, ...path }, ...run }) => ({
    ...run,
    ...plainScore(score),
    path: { ...path, accuracy: heldOut.accuracy, correct: heldOut.correct },
  }));
  output.result({ ...result, runs, ridge, report }, () =>
    [
      `${result.testCount} held-out MNIST digits, named by ${result.trainCount} others, ${result.pixelCount} pixels each:`,
      '',
      output.table(
        [
          { head: 'method' },
          { head: 'device' },
          { head: 'accuracy', align: 'right' },
          ...TIME_HEADS.map((head) => ({ head, align: 'right' }) as const),
        ],
        methodRows(result).map(({ method, device, score, times }) => [
          method,
          device,
          formatPercent(score.accuracy),
          ...times,
        ]),
      ),
      '',
      ...TIMES_NOTE,
      ...result.ridge.flatMap((run) => ['', ...pathLines(output, run)]),
      ...(result.ridge.length === 0 ? [] : ['', whereItRan(result.ridge)]),
      '',
      `Confusion matrices and every mistake of the neighbours as a picture: ${printable(report)}`,
    ].join('\n'),
  );
}

function pathLines(output: Output, { device, path }: RidgeRun): string[] {
  return [
    `Regularisation path on ${device}: ${path.trainCount} training digits, one eigh in ${formatMs(path.eighMs)}, ${path.points.length} ridges in ${formatMs(path.ridgesMs)}, judged on ${path.validationCount} other training digits:`,
    '',
    output.table(
      [{ head: 'ridge' }, { head: 'validation', align: 'right' }],
      path.points.map(({ ridge, accuracy }) => [
        `${ridge}${ridge === path.chosen ? ' (chosen)' : ''}`,
        formatPercent(accuracy),
      ]),
    ),
    '',
    `With it these ${path.trainCount} digits alone name ${formatPercent(path.heldOut.accuracy)} of the held-out ones.`,
  ];
}

function plainScore({ accuracy, correct, confusion }: Score): Score {
  return { accuracy, correct, confusion };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
