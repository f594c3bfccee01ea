import { readCheckpointHeader } from '@mercer/core';
import { printable, writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import { commandLine, describeMachine } from '../bench/machine.js';
import { usageError } from '../cli-error.js';
import { DIGIT_PIXELS, loadDigits } from '../digits/load-digits.js';
import { splitDigits } from '../digits/split-digits.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import {
  parseChoice,
  parseCount,
  parseDevice,
  parseList,
  parseNonNegative,
  parseWhole,
  type DeviceId,
} from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { readAbout, type About, type RunSettings } from '../train/checkpoint-about.js';
import { DigitsOnDevice } from '../train/digits-on-device.js';
import { MODEL_NAMES, type ModelName } from '../train/models.js';
import { OPTIMISER_NAMES, OPTIMISERS, type OptimiserName } from '../train/optimisers.js';
import { formatLoss, RESULT_HEADS, resultCells, trainReport } from '../train/train-report.js';
import { Training, type TrainResult } from '../train/training.js';
import { STATUS_OF, untilSignal, type StopRequest } from '../train/until-signal.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface TrainOptions extends CommonOptions {
  readonly model?: ModelName;
  readonly optimizer?: readonly (OptimiserName | 'all')[];
  readonly learningRate?: number;
  readonly steps?: number;
  readonly epochs?: number;
  readonly batch?: number;
  readonly seed?: number;
  readonly device?: DeviceId;
  readonly checkpoint?: string;
  readonly resume?: string;
  readonly report?: string;
}

const DEFAULTS = { model: 'perceptron', batch: 128, seed: 0, epochs: 5 } as const;

/** `mercer train digits --optimizer shampoo`: a network that learns to name handwritten digits. */
export function trainCommand(): Command {
  const digits = new Command('digits')
    .description(
      'a network that names handwritten digits: its loss as lines of JSON, or a progress bar on a terminal',
    )
    .option('--model <name>', `${MODEL_NAMES.join(', ')}; perceptron`, parseChoice(MODEL_NAMES))
    .option(
      '--optimizer <names>',
      `one or several of ${OPTIMISER_NAMES.join(', ')}, or all; adam`,
      parseList(parseChoice([...OPTIMISER_NAMES, 'all'])),
    )
    .option('--learning-rate <number>', 'one that suits the optimizer', parseNonNegative)
    .option('--steps <count>', 'when to end, counted from the first', parseCount)
    .option(
      '--epochs <count>',
      `the same in rounds over all digits; ${DEFAULTS.epochs}`,
      parseCount,
    )
    .option('--batch <count>', `digits of a step; ${DEFAULTS.batch}`, parseCount)
    .option('--seed <number>', 'of the first weights and the order of digits; 0', parseWhole)
    .option(
      '--device <id>',
      'cpu or a GPU such as cuda:0; the first GPU, else the CPU',
      parseDevice,
    )
    .option('--checkpoint <file>', 'where to save after each epoch and at the end (.safetensors)')
    .option('--resume <file>', 'a checkpoint to go on from, bit for bit')
    .option('--report <file>', 'where curves of the losses go (.html)');
  return new Command('train').addCommand(withCommonOptions(digits).action(action(run)));
}

async function run(output: Output, options: TrainOptions): Promise<void> {
  const names = optimisersOf(options.optimizer);
  checkTogether(options, names);
  await assertWritable(options.checkpoint, options.report);
  const about =
    options.resume === undefined
      ? undefined
      : readAbout(await readCheckpointHeader(options.resume), options.resume);
  const device = chooseDevice(options.device);
  output.progress.update('loading the digits');
  const split = splitDigits(loadDigits());
  const all =
    about === undefined
      ? names.map((name) => newSettings(options, name, split.train.count))
      : [resumedSettings(options, about, split.train.count)];
  using train = await DigitsOnDevice.upload(split.train, device);
  using test = await DigitsOnDevice.upload(split.test, device);
  const results: TrainResult[] = [];
  const onSignal = (): void => {
    output.note('stopping after this step; Ctrl-C again ends at once, with nothing saved');
  };
  const signal = await untilSignal(onSignal, async (request) => {
    for (const settings of all) {
      using training = await Training.start(settings, device);
      if (about !== undefined && options.resume !== undefined) {
        const curve = about.curve.map(([step, seconds, loss]) => ({ step, seconds, loss }));
        await training.load(options.resume, about.seconds, curve);
      }
      results.push(await trained(output, { training, train, test, request, options }));
      if (request.signal !== undefined) break;
    }
    return request.signal;
  });
  const { report } = options;
  if (report !== undefined) {
    const text = trainReport({
      command: commandLine(),
      startedAt: new Date().toISOString().slice(0, 10),
      machine: describeMachine(),
      deviceName: device.name,
      trainCount: train.count,
      testCount: test.count,
      results,
    });
    await writeFileWhole(report, [Buffer.from(text)]);
    if (!output.isForPeople) output.line({ event: 'report', path: report });
  }
  if (output.isForPeople) output.text(textOf(output, results, report));
  if (signal !== undefined) process.exitCode = STATUS_OF[signal];
  else if (results.some(({ ended }) => ended === 'diverged')) process.exitCode = 1;
}

interface Run {
  readonly training: Training;
  readonly train: DigitsOnDevice;
  readonly test: DigitsOnDevice;
  readonly request: StopRequest;
  readonly options: TrainOptions;
}

async function trained(
  output: Output,
  { training, train, test, request, options }: Run,
): Promise<TrainResult> {
  const { settings, device, parameters } = training;
  const { optimizer, steps } = settings;
  const tell = (event: string, told: object): void => {
    if (!output.isForPeople) output.line({ event, optimizer, ...told });
  };
  const save = async (path: string): Promise<void> => {
    await training.save(path);
    tell('checkpoint', { step: training.step, path });
  };
  tell('start', { ...settings, device: device.id, parameters, step: training.step });
  if (training.step >= steps) {
    output.note(
      `${optimizer}: ${training.step} steps were taken already, and --steps is ${steps}. Pass a larger one to go on.`,
    );
  }
  const ended = await training.run(train, {
    onPoint: ({ step, seconds, loss }) => {
      const text = `${optimizer}: loss ${formatLoss(loss)}, ${seconds.toFixed(1)} s`;
      output.progress.update(text, step, steps);
      tell('progress', { step, seconds, loss });
    },
    onEpoch: async () => {
      if (options.checkpoint !== undefined) await save(options.checkpoint);
    },
    stops: () => request.signal !== undefined,
  });
  if (ended === 'interrupted') {
    const path =
      options.checkpoint ?? `mercer-train-${optimizer}-step-${training.step}.safetensors`;
    await save(path);
    output.note(
      `saved ${printable(path)} after step ${training.step} of ${steps}; go on with mercer train digits --resume ${printable(path)}`,
    );
  } else if (ended === 'diverged') {
    output.note(
      `${optimizer}: the loss is not finite after step ${training.step}. Pass a smaller --learning-rate than ${settings.learningRate}.`,
    );
  } else if (options.checkpoint !== undefined) await save(options.checkpoint);
  const { loss, accuracy } = await training.test(test);
  const { curve, step, seconds } = training;
  const result = {
    ...settings,
    device: device.id,
    parameters,
    step,
    seconds,
    ended,
    curve,
    testLoss: loss,
    testAccuracy: accuracy,
  };
  const { curve: _curve, ...told } = result;
  tell('end', { ...told, loss: curve.at(-1)?.loss });
  return result;
}

function optimisersOf(given: TrainOptions['optimizer']): readonly OptimiserName[] {
  if (given === undefined) return ['adam'];
  if (given.includes('all')) return OPTIMISER_NAMES;
  return [...new Set(given as readonly OptimiserName[])];
}

/** @throws CliError USAGE for options that exclude each other */
function checkTogether(options: TrainOptions, names: readonly OptimiserName[]): void {
  const { steps, epochs, learningRate, checkpoint, resume } = options;
  if (steps !== undefined && epochs !== undefined) {
    throw usageError('--steps and --epochs both say when to end. Leave one of them out.');
  }
  const single = Object.entries({
    '--learning-rate': learningRate,
    '--checkpoint': checkpoint,
    '--resume': resume,
  }).find(([, value]) => value !== undefined);
  if (names.length > 1 && single !== undefined) {
    throw usageError(
      `${single[0]} is of one optimizer, and --optimizer names ${names.length}. Name one, or leave ${single[0]} out.`,
    );
  }
}

/** @throws CliError USAGE for a batch of more digits than there are */
function stepsOf(
  { steps, epochs = DEFAULTS.epochs }: Pick<TrainOptions, 'steps' | 'epochs'>,
  batch: number,
  count: number,
): number {
  if (batch > count) {
    throw usageError(`--batch is ${batch}, and there are ${count} digits. Pass fewer.`);
  }
  return steps ?? epochs * Math.floor(count / batch);
}

function newSettings(options: TrainOptions, optimizer: OptimiserName, count: number): RunSettings {
  const { model = DEFAULTS.model, batch = DEFAULTS.batch, seed = DEFAULTS.seed } = options;
  const learningRate = options.learningRate ?? OPTIMISERS[optimizer].rate;
  return { model, optimizer, learningRate, batch, seed, steps: stepsOf(options, batch, count) };
}

/** @throws CliError USAGE where an option says other than the checkpoint */
function resumedSettings(options: TrainOptions, about: About, count: number): RunSettings {
  const { model, optimizer, learningRate, batch, seed } = about;
  const saved = { model, learningRate, batch, seed };
  const given = { ...options, optimizer: options.optimizer?.[0] };
  const flags = {
    model: '--model',
    learningRate: '--learning-rate',
    batch: '--batch',
    seed: '--seed',
    optimizer: '--optimizer',
  };
  for (const [name, value] of Object.entries({ ...saved, optimizer })) {
    const told = given[name as keyof typeof flags];
    if (told === undefined || told === value) continue;
    throw usageError(
      `${flags[name as keyof typeof flags]} is ${told}, and the checkpoint was trained with ${value}. Leave it out; it comes from the file.`,
    );
  }
  const isSaid = options.steps !== undefined || options.epochs !== undefined;
  const steps = isSaid ? stepsOf(options, batch, count) : about.steps;
  return { ...saved, optimizer, steps };
}

function textOf(
  output: Output,
  results: readonly TrainResult[],
  report: string | undefined,
): string {
  const [first] = results;
  return [
    `A ${first?.model ?? ''} with ${first?.parameters ?? 0} parameters and ${DIGIT_PIXELS} inputs, ${first?.batch ?? 0} digits in each step, on ${first?.device ?? ''}:`,
    '',
    output.table(
      RESULT_HEADS.map((head, at) => (at === 0 ? { head } : ({ head, align: 'right' } as const))),
      results.map(resultCells),
    ),
    ...(report === undefined ? [] : ['', `Curves of the losses: ${printable(report)}`]),
  ].join('\n');
}
