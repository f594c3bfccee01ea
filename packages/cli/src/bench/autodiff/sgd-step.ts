import {
  formula,
  map,
  oneHot,
  prepare,
  tensor,
  valueAndGrad,
  type Device,
  type Pending,
  type ProductPrecision,
  type Tensor,
} from '@mercer/core';
import { busyWork } from '../busy-work.js';
import { hostTimeUs } from '../host-time.js';
import type { HostTimes } from '../calls.js';
import { asMany } from '../measuring-time.js';
import type { AutodiffRow, AutodiffSizes } from './autodiff-row.js';
import { stepNumbers, trueGradients, WIDTHS } from './network.js';
import { relativeError } from './relative-error.js';
import { STEADY_MS } from '../timer.js';
import { timeOfCalls } from './time-of-calls.js';

const RATE = 0.05;
const STEPS = 10;
/** Few enough of some thirty launches each that no queue fills. */
const HOST_ROUNDS = { calls: 4, warmUp: { rounds: 20, ms: STEADY_MS }, rounds: 40 };

type Layers = readonly { readonly weight: Tensor; readonly bias: Tensor }[];
type Descend = (
  layers: Layers,
  images: Tensor,
  wanted: Tensor,
) => Promise<{ readonly value: Tensor; readonly grad: Layers }>;

/** Value and gradients of the softmax cross-entropy of a network of two hidden layers. */
const descentBy = (precision: ProductPrecision): Descend =>
  valueAndGrad((layers: Layers, images: Tensor, wanted: Tensor): Pending<Tensor> => {
    let x = images;
    for (const [k, { weight, bias }] of layers.entries()) {
      const given = x as Tensor<'float32'>;
      const sums = given.matmul(weight as Tensor<'float32'>, { precision }).add(bias);
      x = (k === layers.length - 1 ? sums : sums.relu()) as unknown as Tensor;
    }
    return x.logSoftmax(1).mul(wanted).sum(1).mean().neg();
  }) as Descend;

/** A step of a network, and how to make it do its work again. */
interface Way {
  /** The value and gradients alone. */
  readonly descend: (layers: Layers, images: Tensor, wanted: Tensor) => Promise<Descend>;
  /** The whole step: value, gradients and update in place. */
  readonly step: (layers: Layers, images: Tensor, wanted: Tensor) => Promise<() => Promise<void>>;
}

const recordedAnew = (descent: Descend): Way => ({
  descend: () => Promise.resolve(descent),
  step: (layers, images, wanted) =>
    Promise.resolve(async () => {
      const found = await descent(layers, images, wanted);
      await update(layers, found.grad);
      dispose(found);
    }),
});

const replayed = (descent: Descend): Way => ({
  descend: async (...example) => (await prepare(descent, ...example)) as unknown as Descend,
  step: async (layers, images, wanted) => {
    const prepared = await prepare(
      async (x: Tensor, labels: Tensor) => {
        const { value, grad } = await descent(layers, x, labels);
        await update(layers, grad);
        return value;
      },
      images,
      wanted,
    );
    return () => {
      prepared(images, wanted).dispose();
      return Promise.resolve();
    };
  },
});

const WAYS: Readonly<Record<string, Way>> = {
  'recorded anew': recordedAnew(descentBy('float32')),
  replayed: replayed(descentBy('float32')),
  'replayed, TF32 products': replayed(descentBy('tf32')),
};

/** One step of gradient descent: value, gradients and update. */
export async function measureSgdStep(
  device: Device,
  { batch }: AutodiffSizes,
): Promise<readonly AutodiffRow[]> {
  const numbers = stepNumbers(batch);
  const truth = trueGradients(numbers);
  using images = await tensor(numbers.images, { shape: [batch, WIDTHS[0]], device });
  using labels = await tensor(numbers.labels, { device });
  using wanted = await oneHot(labels, WIDTHS[3]);
  const rows: AutodiffRow[] = [];
  for (const [way, made] of Object.entries(WAYS)) {
    const layers = await Promise.all(
      numbers.layers.map(async ({ inputs, outputs, weight, bias }) => ({
        weight: await tensor(weight as Float32Array, { shape: [inputs, outputs], device }),
        bias: await tensor(bias as Float32Array, { device }),
      })),
    );
    const descend = await made.descend(layers, images, wanted);
    const first = await descend(layers, images, wanted);
    const error = await worstError(first.grad, truth);
    dispose(first);
    const step = await made.step(layers, images, wanted);
    const host = await hostTimes(device, step);
    const us = await timeOfCalls(device, asMany(STEPS), step);
    rows.push({ operation: 'sgdStep', library: 'mercer', way, n: batch, us, host, error });
    for (const one of tensorsOf(layers)) one.dispose();
  }
  return rows;
}

const { mul, sub, variable } = formula;
const MOVED = sub(variable('p'), mul(variable('rate'), variable('g')));

const tensorsOf = (layers: Layers): Tensor[] =>
  layers.flatMap(({ weight, bias }) => [weight, bias]);

/** All parameters in one launch. */
async function update(layers: Layers, slopes: Layers): Promise<void> {
  const p = tensorsOf(layers);
  await map(MOVED, { p, g: tensorsOf(slopes) }, { out: p, parameters: { rate: RATE } });
}

function dispose({ value, grad }: Awaited<ReturnType<Descend>>): void {
  value.dispose();
  for (const one of tensorsOf(grad)) one.dispose();
}

async function worstError(slopes: Layers, truth: readonly Float64Array[]): Promise<number> {
  const found = tensorsOf(slopes);
  const errors = await Promise.all(
    found.map(async (one, k) => relativeError(await one.toTypedArray(), truth[k] ?? [])),
  );
  return Math.max(...errors);
}

async function hostTimes(device: Device, step: () => Promise<void>): Promise<HostTimes> {
  const idleUs = await hostTimeUs(device, step, HOST_ROUNDS);
  if (device.kind === 'cpu') return { idleUs };
  const before = await busyWork(device);
  return { idleUs, busyUs: await hostTimeUs(device, step, { ...HOST_ROUNDS, before }) };
}
