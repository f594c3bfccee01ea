import {
  empty,
  formula,
  grad,
  map,
  matmul,
  perSampleGradients,
  prepare,
  tensor,
  type Device,
  type Tensor,
} from '@mercer/core';
import { hashedNumbers } from '../autodiff/hashed-numbers.js';
import { relativeError } from '../autodiff/relative-error.js';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { asMany } from '../measuring-time.js';
import type { OptimRow, OptimSizes } from './optim-row.js';
import { disposeAll, perceptronOf, sizeOf, tensorsOf, type Parameters } from './perceptron.js';

const STEPS = 5;

/** The gradients of each example, and their norms alone. */
export async function measurePerSample(
  device: Device,
  { perSample: [widths, batch] }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const { params, loss, inputs, labels } = await perceptronOf(device, widths, batch);
  const each = await perSampleGradients(loss, params, inputs, labels);
  const whole = await grad(loss)(params, inputs, labels);
  const first = 'linear0';
  using mean = await (each[first]?.weight as Tensor).mean(0);
  const truth = await (whole[first]?.weight as Tensor).toTypedArray();
  const error = relativeError(await mean.toTypedArray(), Float64Array.from(truth, Number));
  disposeAll(each);
  disposeAll(whole);
  const common = { operation: 'perSample', library: 'mercer', n: batch * sizeOf(params) } as const;
  const tensors = tensorsOf(params).length;
  const gradients = await timeOfCalls(device, asMany(STEPS), async () => {
    disposeAll(await perSampleGradients(loss, params, inputs, labels));
  });
  const norms = await timeOfCalls(device, asMany(STEPS), async () => {
    const found = await perSampleGradients(loss, params, inputs, labels, { norms: true });
    disposeAll(found.norms);
    found.total.dispose();
  });
  const out = roomFor(params, batch);
  // into tensors of their own: what a replay gives is copied
  using written = await prepare(
    async (x: typeof inputs, wanted: typeof labels): Promise<void> => {
      await perSampleGradients(loss, params, x, wanted, { out });
    },
    inputs,
    labels,
  );
  const replayed = await timeOfCalls(device, asMany(STEPS), () => {
    written(inputs, labels);
    return Promise.resolve();
  });
  using computed = await prepare(
    (x: typeof inputs, wanted: typeof labels) =>
      perSampleGradients(loss, params, x, wanted, { norms: true }),
    inputs,
    labels,
  );
  const replayedNorms = await timeOfCalls(device, asMany(STEPS), () => {
    const found = computed(inputs, labels);
    disposeAll(found.norms);
    found.total.dispose();
    return Promise.resolve();
  });
  using replayedMean = await (out[first]?.weight as Tensor).mean(0);
  const replayedError = relativeError(
    await replayedMean.toTypedArray(),
    Float64Array.from(truth, Number),
  );
  disposeAll(out);
  disposeAll(params);
  const [inputWidth = 1, outputWidth = 1] = widths;
  const outer = await measureOuter(device, batch, outputWidth, inputWidth);
  return [
    { ...common, tensors, way: 'gradients of each example', us: gradients, error },
    {
      ...common,
      tensors,
      way: 'gradients of each example, replayed',
      us: replayed,
      error: replayedError,
    },
    { ...common, tensors, way: 'their norms', us: norms },
    { ...common, tensors, way: 'their norms, replayed', us: replayedNorms },
    ...outer,
  ];
}

const OUTER = formula.mul(formula.variable('d'), formula.variable('x'));

/** Outer products of rows, (N, outputs) by (N, inputs), into a tensor: most of what gradients of each example write. Their error is against each other. */
async function measureOuter(
  device: Device,
  batch: number,
  outputs: number,
  inputs: number,
): Promise<readonly OptimRow[]> {
  const made = (width: number, seed: number): Promise<Tensor<'float32'>> =>
    tensor(hashedNumbers(batch * width, seed, [-1, 1]), { shape: [batch, width], device });
  using cotangent = await made(outputs, 1);
  using x = await made(inputs, 2);
  using d = cotangent.reshape([batch, outputs, 1]);
  using row = x.reshape([batch, 1, inputs]);
  using out = empty([batch, outputs, inputs], { device });
  using first = out.slice(0);
  const mapped = async (): Promise<void> => {
    await map(OUTER, { d, x: row }, { out });
  };
  const multiplied = async (): Promise<void> => {
    await matmul(d, row, { out });
  };
  await mapped();
  const wanted = Float64Array.from(await first.toTypedArray(), Number);
  await multiplied();
  const error = relativeError(await first.toTypedArray(), wanted);
  const common = {
    operation: 'perSample',
    library: 'mercer',
    n: batch * outputs * inputs,
    tensors: 1,
  } as const;
  return [
    {
      ...common,
      way: 'outer products alone, by a map',
      us: await timeOfCalls(device, asMany(STEPS), mapped),
    },
    {
      ...common,
      way: 'outer products alone, by batched products',
      us: await timeOfCalls(device, asMany(STEPS), multiplied),
      error,
    },
  ];
}

/** Tensors like parameters for each of some examples. */
const roomFor = (params: Parameters, batch: number): Parameters =>
  Object.fromEntries(
    Object.entries(params).map(([layer, own]) => {
      const { weight, bias } = own;
      const room = ({ shape, device }: Tensor): Tensor => empty([batch, ...shape], { device });
      return [layer, { weight: room(weight), bias: room(bias) }];
    }),
  );
