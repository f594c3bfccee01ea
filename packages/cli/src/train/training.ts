import { setImmediate } from 'node:timers/promises';
import {
  isTensor,
  loadCheckpoint,
  losses,
  perSampleGradients,
  random,
  saveCheckpoint,
  Scope,
  valueAndGrad,
  withStatistics,
  type Device,
  type Optimiser,
  type OptimiserState,
  type Statistics,
  type StepExtras,
  type Tensor,
  type Tree,
} from '@mercer/core';
import { aboutOf, type CurvePoint, type RunSettings } from './checkpoint-about.js';
import type { Batch, DigitsOnDevice } from './digits-on-device.js';
import { modelOf, type Model } from './models.js';
import { OPTIMISERS } from './optimisers.js';

/** How a run ended, and how well its network names digits that it has not seen. */
export interface TrainResult extends RunSettings {
  readonly device: string;
  /** Numbers that were trained. */
  readonly parameters: number;
  /** Steps that were taken. */
  readonly step: number;
  /** Of the steps alone, kernels that had to be compiled among them. */
  readonly seconds: number;
  readonly ended: 'finished' | 'interrupted' | 'diverged';
  readonly curve: readonly CurvePoint[];
  readonly testLoss: number;
  readonly testAccuracy: number;
}

/** What is told while a run goes on. */
export interface TrainingHooks {
  readonly onPoint: (point: CurvePoint) => void;
  /** After the last step of each epoch. */
  readonly onEpoch: () => Promise<void>;
  /** Whether to stop after the step that is being taken. */
  readonly stops: () => boolean;
}

interface Found {
  readonly value: Tensor;
  readonly grad: Tree;
  readonly statistics?: Statistics;
}

/** Points of a curve. */
const MOST_POINTS = 200;
const TEST_CHUNK = 500;

/** A network, its optimiser and the state of both, which a checkpoint holds. */
export class Training implements Disposable {
  readonly curve: CurvePoint[] = [];
  #seconds = 0;
  #gradients = 0;
  #told: Tensor[] = [];
  readonly #labelsKey: random.RandomKey;
  readonly #loss = (params: Tree, images: Tensor, labels: Tensor) =>
    losses.crossEntropy(this.model.scores(params, images), labels);

  private constructor(
    readonly settings: RunSettings,
    readonly device: Device,
    private readonly model: Model,
    private readonly optimiser: Optimiser,
    private readonly params: Tree,
    private readonly state: OptimiserState,
    private readonly dataKey: random.RandomKey,
  ) {
    [this.#labelsKey] = random.split(dataKey);
  }

  static async start(settings: RunSettings, device: Device): Promise<Training> {
    const model = modelOf(settings.model);
    const optimiser = OPTIMISERS[settings.optimizer].make(settings.learningRate, model);
    const [weights, dataKey] = random.split(random.key(settings.seed));
    const params = await model.init(weights, device);
    const state = await optimiser.init(params);
    return new Training(settings, device, model, optimiser, params, state, dataKey);
  }

  get step(): number {
    return this.state.step;
  }

  get seconds(): number {
    return this.#seconds;
  }

  /** Gradients that were computed since the start: an optimiser may evaluate the loss several times in a step. */
  get gradients(): number {
    return this.#gradients;
  }

  get parameters(): number {
    return tensorsOf(this.params).reduce((sum, { size }) => sum + size, 0);
  }

  /** Takes steps until there are as many as the settings say, or fewer that are named, or it is told to stop. */
  async run(
    train: DigitsOnDevice,
    hooks: TrainingHooks,
    steps = this.settings.steps,
  ): Promise<TrainResult['ended']> {
    const { batch } = this.settings;
    const every = Math.ceil(this.settings.steps / MOST_POINTS);
    const inEpoch = Math.floor(train.count / batch);
    while (this.step < steps) {
      const start = performance.now();
      await this.#step(train);
      const stops = hooks.stops();
      // losses that were not read would not be in a checkpoint
      const endsEpoch = this.step % inEpoch === 0;
      const reads = this.step % every === 0 || this.step === steps || stops || endsEpoch;
      const point = reads ? await this.#read() : undefined;
      this.#seconds += (performance.now() - start) / 1000;
      if (point !== undefined) {
        const one = { step: this.step, seconds: this.#seconds, loss: point };
        this.curve.push(one);
        hooks.onPoint(one);
        if (!Number.isFinite(point)) return 'diverged';
      }
      if (stops && this.step < steps) return 'interrupted';
      if (endsEpoch && this.step < steps) await hooks.onEpoch();
      await setImmediate(); // signals are heard between steps
    }
    return 'finished';
  }

  async #step(train: DigitsOnDevice): Promise<void> {
    using batch = await train.batchOf(this.step, this.settings.batch, this.dataKey);
    const { needs } = OPTIMISERS[this.settings.optimizer];
    const found = await this.#gradient(this.params, batch, needs === 'statistics');
    const extras: StepExtras = {
      value: found.value,
      ...(found.statistics && { statistics: found.statistics }),
      ...(needs === 'evaluate' && { evaluate: (params) => this.#gradient(params, batch, false) }),
      ...(needs === 'modelPerSample' && {
        modelPerSample: (params) => this.#modelPerSample(params, batch),
      }),
    };
    this.#told.push(found.value);
    try {
      const { skipped } = await this.optimiser.step(this.params, found.grad, this.state, extras);
      skipped.dispose();
    } finally {
      for (const one of tensorsOf([found.grad, found.statistics ?? []])) one.dispose();
    }
  }

  async #gradient(params: Tree, { images, labels }: Batch, hasStatistics: boolean): Promise<Found> {
    this.#gradients++;
    const descend = hasStatistics ? withStatistics(this.#loss) : valueAndGrad(this.#loss);
    return descend(params, images, labels);
  }

  /** Gradients of the examples, with labels that are drawn from the model: one backward pass, as a gradient is. */
  async #modelPerSample(params: Tree, { images }: Batch): Promise<Tree> {
    this.#gradients++;
    using scope = new Scope();
    const scores = scope.track(await this.model.scores(params, images));
    const key = random.foldIn(this.#labelsKey, this.step);
    const uniform = random.uniform(scores.shape, { key, device: this.device });
    // The first of exponential clocks with the rates exp(scores) is each with its probability.
    const first = scores.sub(uniform.log().neg().log()).argMax(1).cast('int32');
    const labels = scope.track(await first);
    return await perSampleGradients(this.#loss, params, images, labels);
  }

  /** The mean of the losses since they were read. */
  async #read(): Promise<number> {
    const told = this.#told.splice(0);
    try {
      const values = await Promise.all(told.map(async (one) => Number(await one.item())));
      return values.reduce((sum, one) => sum + one, 0) / values.length;
    } finally {
      for (const one of told) one.dispose();
    }
  }

  /** Mean loss and share of right answers on other digits, or on the first of them. */
  async test(
    digits: DigitsOnDevice,
    count = digits.count,
  ): Promise<{ loss: number; accuracy: number }> {
    let [loss, right] = [0, 0];
    for (let from = 0; from < count; from += TEST_CHUNK) {
      const to = Math.min(from + TEST_CHUNK, count);
      using batch = digits.range(from, to);
      using scores = await this.model.scores(this.params, batch.images);
      using sum = await losses.crossEntropy(scores, batch.labels, { reduction: 'sum' });
      using hits = await scores.argMax(1).cast('int32').eq(batch.labels).cast('float32').sum();
      loss += Number(await sum.item());
      right += await hits.item();
    }
    return { loss: loss / count, accuracy: right / count };
  }

  /** @throws NpyError, where the file cannot be written */
  async save(path: string): Promise<void> {
    const { optimiser, params, state } = this;
    const about = aboutOf(this.settings, this.#seconds, this.curve);
    await saveCheckpoint(path, { optimiser, params, state }, { about });
  }

  /** Goes on from a checkpoint that {@link save} wrote with the same settings. @throws OptimError BAD_CHECKPOINT, WRONG_STATE */
  async load(path: string, seconds: number, curve: readonly CurvePoint[]): Promise<void> {
    const { optimiser, params, state } = this;
    await loadCheckpoint(path, { optimiser, params, state });
    this.#seconds = seconds;
    this.curve.push(...curve);
  }

  [Symbol.dispose](): void {
    for (const one of [...tensorsOf(this.params), ...this.#told]) one.dispose();
    this.state[Symbol.dispose]();
  }
}

function tensorsOf(tree: unknown): Tensor[] {
  if (isTensor(tree)) return [tree];
  return typeof tree === 'object' && tree !== null ? Object.values(tree).flatMap(tensorsOf) : [];
}
