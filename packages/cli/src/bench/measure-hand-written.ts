import { empty, tensor, type CpuLimits, type Device } from '@mercer/core';
import { cpuGaussianSum } from '@mercer/core/bench';
import { isReduction, type Cell } from './cells.js';
import type { MeasuredLimit } from './limits.js';
import type { Float } from './operations/operation.js';
import { spreadOf, type Spread } from './statistics.js';
import { measureCalls } from './timer.js';

const DIM = 3;
/** Points on either side where a device is measured, uniform in a cube of this edge. */
const POINTS = 10_000;
const EDGE = 2;
const MOST_SECONDS = 10;

/** Pairs a second of the Gaussian sum that is written by hand, on points whose exponentials are no trivial ones. */
export async function measureHandWritten(
  device: Device,
  limits: CpuLimits,
): Promise<MeasuredLimit> {
  const { limit, title } = cpuGaussianSum(limits);
  // a low-discrepancy sequence: the same points in every run
  const points = (columns: number, first: number): Promise<Float> | Float =>
    tensor(
      Float32Array.from(
        { length: POINTS * columns },
        (_, e) => ((first + e * 0.618033988749895) % 1) * EDGE,
      ),
      { shape: [POINTS, columns], device },
    );
  const operands = [await points(DIM, 0.1), await points(DIM, 0.7), await points(1, 0.3)];
  try {
    const ms = await timeHandWritten(device, limits, operands, MOST_SECONDS);
    return { limit, title, ms, pairsPerSecond: (POINTS * POINTS * 1e3) / ms.p10 };
  } finally {
    for (const one of operands) one.dispose();
  }
}

/** Whether the loop that is written by hand computes the same as a cell. */
export function isWrittenByHand(cell: Cell): boolean {
  if (!isReduction(cell)) return false;
  const { operation, dtype, d, batch } = cell;
  return operation === 'gaussianSum' && dtype === 'float32' && d === DIM && batch === 1;
}

/** Times the sum that is written by hand on points x and y and factors b of rows of y. */
export async function timeHandWritten(
  device: Device,
  limits: CpuLimits,
  operands: readonly Float[],
  maxSeconds: number,
): Promise<Spread> {
  const [rowsI = 0, rowsJ = 0] = operands.map(({ shape }) => shape[0] ?? 0);
  const loaded = await device.load(cpuGaussianSum(limits).kernel);
  const out = empty([rowsI], { device });
  try {
    for (const one of [...operands, out]) await one.ready();
    const pointers = [...operands, out].map(({ storage }) => storage);
    const times = await measureCalls(device, maxSeconds, () => {
      loaded.launch(device.defaultStream, { pointers, scalars: { rowsI, rowsJ } });
    });
    return spreadOf(times);
  } finally {
    out.dispose();
  }
}
