import { cdist, device, type Device, type Tensor } from '@mercer/core';
import { spreadOf } from '../bench/statistics.js';
import { classify } from './classification.js';
import type { DemoRun } from './demo-result.js';
import type { DigitSplit } from './split-digits.js';
import { timed } from './timed.js';
import { upload } from './upload.js';

/** Neighbours that vote. */
export const DEMO_NEIGHBOURS = 5;

/** Calls that are timed after the first, as many as fit in the time. */
const MOST_TIMED_CALLS = 5;
const TIMED_MS = 2000;

/** Classifies the held-out digits for each norm on one device; `onRun` hears of each before it starts. */
export async function runDemo(
  split: DigitSplit,
  deviceId: string,
  norms: readonly number[],
  onRun: (text: string) => void,
): Promise<DemoRun[]> {
  const target = device(deviceId as 'cpu');
  const known = await upload(split.train, target);
  const held = await upload(split.test, target);
  const runs: DemoRun[] = [];
  try {
    for (const p of norms) {
      onRun(`p = ${p} on ${deviceId}`);
      runs.push(await runNorm(split, held, known, target, p));
    }
  } finally {
    known.dispose();
    held.dispose();
  }
  return runs;
}

async function runNorm(
  split: DigitSplit,
  held: Tensor<'float32'>,
  known: Tensor<'float32'>,
  target: Device,
  p: number,
): Promise<DemoRun> {
  const { ms: firstMs, value: distances } = await timed(async () => {
    const result = await cdist(held, known, { p });
    await result.ready();
    return result;
  });
  const steady: number[] = [];
  let spentMs = 0;
  while (steady.length < MOST_TIMED_CALLS && spentMs < TIMED_MS) {
    const { ms } = await timed(async () => {
      await cdist(held, known, { p, out: distances });
      await distances.ready();
    });
    steady.push(ms);
    spentMs += ms;
  }
  const { ms: voteMs, value: classification } = await timed(async () => {
    const matrix = await distances.toTypedArray();
    return classify(matrix, split.train.labels, split.test.labels, DEMO_NEIGHBOURS);
  });
  distances.dispose();
  return {
    device: target.id,
    deviceName: target.name,
    p,
    classification,
    firstMs,
    distanceMs: spreadOf(steady).median,
    voteMs,
  };
}
