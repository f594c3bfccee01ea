import type { Device } from '@mercer/core';
import {
  AUTODIFF_NAMES,
  SIZES,
  type AutodiffName,
  type AutodiffRow,
  type AutodiffSizes,
} from './autodiff-row.js';
import { measureBroadcast } from './broadcast.js';
import { measureChain } from './chain.js';
import { measureExpSum } from './exp-sum.js';
import { measureGaussianGradient } from './gaussian-gradient.js';
import { measureSgdStep } from './sgd-step.js';

type Measure = (device: Device, sizes: AutodiffSizes) => Promise<readonly AutodiffRow[]>;

const MEASURES: Readonly<Record<AutodiffName, Measure>> = {
  chain: measureChain,
  sgdStep: measureSgdStep,
  expSum: measureExpSum,
  broadcast: measureBroadcast,
  gaussianGradient: measureGaussianGradient,
};

/** Measures what is named, in the order of {@link AUTODIFF_NAMES}. */
export async function measureAutodiff(
  device: Device,
  names: readonly AutodiffName[],
  onProgress: (name: string) => void,
): Promise<readonly AutodiffRow[]> {
  const rows: AutodiffRow[] = [];
  for (const name of AUTODIFF_NAMES.filter((one) => names.includes(one))) {
    onProgress(name);
    rows.push(...(await MEASURES[name](device, SIZES[device.kind])));
  }
  return rows;
}
