import type { Command } from 'commander';
import {
  compareOptimisers,
  HELD_OUT,
  LOOK_EVERY,
  type Budget,
  type ComparedRow,
} from '../bench/digits/compare-optimisers.js';
import { commandLine, describeMachine } from '../bench/machine.js';
import type { Spread } from '../bench/statistics.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseCount, parseList, parsePositive } from '../options/parse-option.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { MODEL_NAMES } from '../train/models.js';
import { OPTIMISER_NAMES } from '../train/optimisers.js';
import { sub, writeJson, type BenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

type DigitsBenchOptions = BenchOptions & Budget;

const RATES = [1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1];

/** `mercer bench digits`. */
export function benchDigitsCommand(): Command {
  const names = <T extends string>(all: readonly T[]) => parseList(parseChoice(all));
  return sub(
    'digits',
    'optimisers whose learning rates had the same tries: steps and seconds until held-out digits have a loss',
  )
    .option('--models <list>', MODEL_NAMES.join(', '), names(MODEL_NAMES), [
      'perceptron',
      'convolutional',
    ])
    .option('--optimizers <list>', OPTIMISER_NAMES.join(', '), names(OPTIMISER_NAMES), [
      ...OPTIMISER_NAMES,
    ])
    .option('--rates <list>', 'that each is tried with', parseList(parsePositive), RATES)
    .option('--tune-steps <count>', 'of each try', parseCount, 100)
    .option('--steps <count>', 'the most of a run', parseCount, 300)
    .option('--seeds <count>', 'runs with the best rate', parseCount, 5)
    .option('--batch <count>', 'digits of a step', parseCount, 128)
    .option('--target <loss>', 'of held-out digits, which ends a run', parsePositive, 0.25)
    .action(action(digits));
}

async function digits(output: Output, options: DigitsBenchOptions): Promise<void> {
  await assertWritable(options.out);
  const device = chooseDevice(options.device);
  const { models, optimizers, rates, tuneSteps, steps, seeds, batch, target } = options;
  const budget = { models, optimizers, rates, tuneSteps, steps, seeds, batch, target };
  const about = {
    schema: 1,
    suite: 'digits',
    command: commandLine(),
    startedAt: new Date().toISOString(),
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit: `steps and seconds until the mean loss of ${HELD_OUT} held-out digits, looked at every ${LOOK_EVERY} steps, is at most the target; seconds are those of the steps alone, and cpuSeconds the processor time of the process in them`,
    budget,
  };
  const rows = await compareOptimisers(device, budget, {
    onProgress: (text) => output.progress.update(text),
    onRow: (some) => writeJson(options.out, { ...about, rows: some }),
  });
  output.result({ ...about, rows }, () => render(output, rows, target));
}

function render(output: Output, rows: readonly ComparedRow[], target: number): string {
  const range = (spread: Spread | undefined): string =>
    spread === undefined
      ? '-'
      : `${significant(spread.median)} (${significant(spread.p10)} to ${significant(spread.p90)})`;
  const lines = rows.map(({ model, optimizer, rate, runs, spread }) => [
    `${model}, ${optimizer}`,
    String(rate),
    `${runs.filter(({ reached }) => reached).length} of ${runs.length}`,
    range(spread?.steps),
    range(spread?.gradients),
    range(spread?.seconds),
    range(spread?.cpuSeconds),
  ]);
  const heads = ['rate', 'reached', 'steps', 'gradients', 'seconds', 'seconds of CPU'];
  const table = output.table(
    [{ head: 'optimiser' }, ...heads.map((head) => ({ head, align: 'right' as const }))],
    lines,
  );
  return `${output.heading(`To a loss of ${target}: median, and from the tenth to the ninetieth percentile`)}\n${table}`;
}
