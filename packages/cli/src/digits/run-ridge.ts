import {
  cdist,
  device,
  kernels,
  matmul,
  runKernel,
  scope,
  solveCholesky,
  type Device,
  type Scope,
  type Tensor,
} from '@mercer/core';
import { spreadOf } from '../bench/statistics.js';
import type { RidgeRun } from './demo-result.js';
import type { LinearAlgebra } from './linear-algebra.js';
import { centredTargets, labelsOf } from './one-hot.js';
import { ridgePath } from './ridge-path.js';
import { CLASSES, scoreAnswers } from './score.js';
import type { DigitSplit } from './split-digits.js';
import { timed } from './timed.js';
import { upload } from './upload.js';

/** The bandwidth is this share of the median distance between the first so many training digits. */
export const BANDWIDTH_FACTOR = 0.5;
const SAMPLE = 500;

/** Training digits of the regularisation path, and those behind them on which it is judged. */
const PATH = { train: 2000, validation: 1000 };

/**
 * Kernel ridge regression on one device: a Laplacian kernel of the 1-norm, one-hot targets, a Cholesky solve. Bandwidth and ridge
 * come from the training digits alone. The linear algebra runs on the same device, or on the CPU, where kernel matrices are
 * then copied to (`linearAlgebraOf`).
 */
export function runRidge(
  split: DigitSplit,
  deviceId: string,
  algebra: LinearAlgebra,
  onStep: (text: string) => void,
  sizes = PATH,
): Promise<RidgeRun> {
  return scope(async (s) => {
    const target = device(deviceId as 'cpu');
    const solving = device(algebra.solvedOn as 'cpu');
    const { train, test } = split;
    const known = s.track(await upload(train, target));
    const held = s.track(await upload(test, target));
    onStep(`kernel matrices on ${deviceId}`);
    const sample = s.track(known.slice([0, Math.min(SAMPLE, train.count)]));
    const medianDistance = await medianBetween(s, sample);
    const bandwidth = BANDWIDTH_FACTOR * medianDistance;
    const first = await timed(async () => {
      const made = await runKernel(kernels.laplace, known, {
        bandwidth,
        regularization: 0,
      });
      return s.track(made).ready();
    });
    const kernel = first.value;
    const heldKernel = s.track(await runKernel(kernels.laplace, held, known, { bandwidth }));

    onStep(`regularisation path of ${deviceId}'s kernel matrix`);
    const end = sizes.train + sizes.validation;
    const part = async (whole: Tensor<'float32'>, from: number, to: number) =>
      onDevice(s, s.track(whole.slice([from, to], [0, sizes.train])), solving);
    const path = await ridgePath({
      kernel: await part(kernel, 0, sizes.train),
      validation: await part(kernel, sizes.train, end),
      heldOut: await part(heldKernel, 0, test.count),
      labels: train.labels.subarray(0, sizes.train),
      validationLabels: train.labels.subarray(sizes.train, end),
      heldOutLabels: test.labels,
    });

    onStep(`kernel ridge regression on ${deviceId}`);
    const { ms: kernelMs } = await timed(async () => {
      const options = { bandwidth, regularization: path.chosen, out: kernel };
      return (await runKernel(kernels.laplace, known, options)).ready();
    });
    const { targets, means } = centredTargets(train.labels);
    const y = await s.tensor(targets, { shape: [train.count, CLASSES], device: solving });
    const { ms: solveMs, value: coefficients } = await timed(async () => {
      const options = { checkErrors: true, overwriteA: true };
      const { x, infos } = await solveCholesky(await onDevice(s, kernel, solving), y, options);
      s.track(infos);
      return s.track(x).ready();
    });
    const { ms: predictMs, value: answers } = await timed(async () => {
      await runKernel(kernels.laplace, held, known, { bandwidth, out: heldKernel });
      const scores = s.track(await matmul(await onDevice(s, heldKernel, solving), coefficients));
      return labelsOf(await scores.toTypedArray(), means);
    });
    return {
      device: target.id,
      deviceName: target.name,
      kernel: 'laplace',
      sampleCount: sample.shape[0] ?? 0,
      medianDistance,
      bandwidth,
      ridge: path.chosen,
      ...algebra,
      score: scoreAnswers(answers, test.labels),
      firstMs: first.ms,
      kernelMs,
      solveMs,
      predictMs,
      path,
    };
  });
}

/** The tensor itself, or its copy on another device. */
async function onDevice(
  s: Scope,
  x: Tensor<'float32'>,
  target: Device,
): Promise<Tensor<'float32'>> {
  return s.track(await x.to(target.id));
}

/** The median 1-norm of the differences of all pairs of rows. */
async function medianBetween(s: Scope, rows: Tensor<'float32'>): Promise<number> {
  const distances = await s.track(await cdist(rows, rows, { p: 1 })).toTypedArray();
  const count = rows.shape[0] ?? 0;
  const pairs = distances.filter((_, i) => i % count < Math.floor(i / count));
  return spreadOf([...pairs]).median;
}
