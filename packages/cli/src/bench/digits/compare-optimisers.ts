import type { Device } from '@mercer/core';
import { usageError } from '../../cli-error.js';
import { loadDigits } from '../../digits/load-digits.js';
import { splitDigits } from '../../digits/split-digits.js';
import { DigitsOnDevice } from '../../train/digits-on-device.js';
import type { ModelName } from '../../train/models.js';
import type { OptimiserName } from '../../train/optimisers.js';
import { Training } from '../../train/training.js';
import { spreadOf, type Spread } from '../statistics.js';

/** What all optimisers are given. */
export interface Budget {
  readonly models: readonly ModelName[];
  readonly optimizers: readonly OptimiserName[];
  /** Learning rates that each is tried with. */
  readonly rates: readonly number[];
  /** Steps of such a try. */
  readonly tuneSteps: number;
  /** The most steps of a run. */
  readonly steps: number;
  /** Runs with the rate that was chosen: seeds 0, 1, ... The tries take the seed behind them. */
  readonly seeds: number;
  /** Digits of a step. */
  readonly batch: number;
  /** The mean loss of held-out digits that ends a run. */
  readonly target: number;
}

/** The loss of held-out digits after the steps of a try; none where the try diverged. */
export interface Try {
  readonly rate: number;
  readonly loss?: number;
}

/** A run until held-out digits have the loss that was asked for, or to the last step. */
export interface Run {
  readonly seed: number;
  readonly reached: boolean;
  readonly steps: number;
  /** Of the steps alone. */
  readonly seconds: number;
  /** The processor time of this process in them, all threads together: on a CPU that others use too it says more than the seconds. */
  readonly cpuSeconds: number;
  /** Gradients that were computed: the line search of lbfgs takes several for a step. */
  readonly gradients: number;
  /** Of held-out digits, at the end; none where the run diverged. */
  readonly loss?: number;
}

/** What is counted to the loss. */
type Counted = 'steps' | 'gradients' | 'seconds' | 'cpuSeconds';

/** One optimiser on one network. */
export interface ComparedRow {
  readonly model: ModelName;
  readonly optimizer: OptimiserName;
  readonly parameters: number;
  readonly tries: readonly Try[];
  /** The one with the least loss. */
  readonly rate: number;
  readonly runs: readonly Run[];
  /** Of the runs that reached the loss, where all did. */
  readonly spread?: Readonly<Record<Counted, Spread>>;
}

/** Held-out digits that losses are taken of, and the steps from one look at them to the next. */
export const HELD_OUT = 500;
export const LOOK_EVERY = 5;

/** What a comparison tells while it goes on. */
export interface CompareHooks {
  readonly onProgress: (text: string) => void;
  readonly onRow: (rows: readonly ComparedRow[]) => Promise<void>;
}

/** Chooses a learning rate for each optimiser by the same tries, and counts its steps and seconds to a loss. */
export async function compareOptimisers(
  device: Device,
  budget: Budget,
  { onProgress, onRow }: CompareHooks,
): Promise<readonly ComparedRow[]> {
  const split = splitDigits(loadDigits());
  if (budget.batch > split.train.count) {
    throw usageError(
      `--batch is ${budget.batch}, and there are ${split.train.count} digits. Pass fewer.`,
    );
  }
  using train = await DigitsOnDevice.upload(split.train, device);
  using test = await DigitsOnDevice.upload(split.test, device);
  const rows: ComparedRow[] = [];
  for (const model of budget.models) {
    for (const optimizer of budget.optimizers) {
      const say = (text: string): void => {
        onProgress(`${model}, ${optimizer}: ${text}`);
      };
      rows.push(await compared({ device, budget, train, test, model, optimizer, say }));
      await onRow(rows);
    }
  }
  return rows;
}

interface Compared {
  readonly device: Device;
  readonly budget: Budget;
  readonly train: DigitsOnDevice;
  readonly test: DigitsOnDevice;
  readonly model: ModelName;
  readonly optimizer: OptimiserName;
  readonly say: (text: string) => void;
}

async function compared(of: Compared): Promise<ComparedRow> {
  const { model, optimizer, say } = of;
  const { rates, tuneSteps, seeds, steps, target } = of.budget;
  const tries: Try[] = [];
  let parameters = 0;
  for (const rate of rates) {
    say(`rate ${rate}`);
    const run = await runOf(of, { rate, seed: seeds, steps: tuneSteps });
    ({ parameters } = run);
    tries.push({ rate, ...(run.loss !== undefined && { loss: run.loss }) });
  }
  const { rate } = tries.reduce((best, one) =>
    (one.loss ?? Infinity) < (best.loss ?? Infinity) ? one : best,
  );
  const runs: Run[] = [];
  for (let seed = 0; seed < seeds; seed++) {
    say(`rate ${rate}, seed ${seed}`);
    const { parameters: _, ...run } = await runOf(of, { rate, seed, steps, target });
    runs.push({ seed, ...run });
  }
  const spread = (counted: Counted): Spread => spreadOf(runs.map((run) => run[counted]));
  return {
    model,
    optimizer,
    parameters,
    tries,
    rate,
    runs,
    ...(runs.every(({ reached }) => reached) && {
      spread: {
        steps: spread('steps'),
        gradients: spread('gradients'),
        seconds: spread('seconds'),
        cpuSeconds: spread('cpuSeconds'),
      },
    }),
  };
}

interface Asked {
  readonly rate: number;
  readonly seed: number;
  readonly steps: number;
  readonly target?: number;
}

async function runOf(
  { device, budget, train, test, model, optimizer }: Compared,
  { rate, seed, steps, target = -Infinity }: Asked,
): Promise<Omit<Run, 'seed'> & { readonly parameters: number }> {
  const { batch } = budget;
  const settings = { model, optimizer, learningRate: rate, batch, seed, steps };
  using training = await Training.start(settings, device);
  const hooks = {
    onPoint: () => undefined,
    onEpoch: () => Promise.resolve(),
    stops: () => false,
  };
  let loss: number | undefined;
  let reached = false;
  let cpuSeconds = 0;
  while (!reached && training.step < steps) {
    const to = Math.min(training.step + LOOK_EVERY, steps);
    const before = process.cpuUsage();
    const ended = await training.run(train, hooks, to);
    const { user, system } = process.cpuUsage(before);
    cpuSeconds += (user + system) / 1e6;
    ({ loss } = await training.test(test, HELD_OUT));
    if (ended === 'diverged' || !Number.isFinite(loss)) {
      loss = undefined;
      break;
    }
    reached = loss <= target;
  }
  const { step, seconds, gradients, parameters } = training;
  return {
    reached,
    steps: step,
    seconds,
    cpuSeconds,
    gradients,
    ...(loss !== undefined && { loss }),
    parameters,
  };
}
