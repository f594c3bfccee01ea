import { empty, tensor, type CpuLimits, type Device } from '@mercer/core';
import { cpuGaussianSum } from '@mercer/core/bench';
import { isReduction, type Cell } from './cells.js';
import { best, type DeviceLimitsReport, type MeasuredLimit } from './limits.js';
import { spreadOf } from './statistics.js';
import { timeCalls } from './timer.js';

/** Points on either side, uniform in a cube of this edge. */
const POINTS = 10_000;
const EDGE = 2;
const CALLS = 41;
const DIM = 3;
const LIMIT = 'cpu-fp32-gaussian-sum';

/** Pairs a second of the Gaussian sum that is written by hand, on points whose exponentials are no trivial ones. */
export async function measureHandWritten(
  device: Device,
  limits: CpuLimits,
): Promise<MeasuredLimit> {
  const { limit, title, kernel } = cpuGaussianSum(limits);
  // a low-discrepancy sequence: the same points in every run
  const points = (columns: number, first: number): Float32Array =>
    Float32Array.from(
      { length: POINTS * columns },
      (_, e) => ((first + e * 0.618033988749895) % 1) * EDGE,
    );
  const loaded = await device.load(kernel);
  const x = await tensor(points(DIM, 0.1), { shape: [POINTS, DIM], device });
  const y = await tensor(points(DIM, 0.7), { shape: [POINTS, DIM], device });
  const b = await tensor(points(1, 0.3), { shape: [POINTS, 1], device });
  const out = empty([POINTS], { device });
  const all = [x, y, b, out];
  try {
    for (const one of all) await one.ready();
    const pointers = all.map(({ storage }) => storage);
    const launch = (): void => {
      loaded.launch(device.defaultStream, {
        pointers,
        scalars: { rowsI: POINTS, rowsJ: POINTS },
      });
    };
    await timeCalls(device, 3, launch);
    const ms = spreadOf(await timeCalls(device, CALLS, launch));
    return { limit, title, ms, pairsPerSecond: (POINTS * POINTS * 1e3) / ms.p10 };
  } finally {
    for (const one of all) one.dispose();
  }
}

/** The pairs a second of a cell that took `ms`, by those of the loop that is written by hand; undefined where there is none. */
export function shareOfHandWritten(
  cell: Cell,
  ms: number,
  limits: DeviceLimitsReport,
): number | undefined {
  const rate = best(limits, [LIMIT], 'pairsPerSecond');
  if (rate === undefined || ms === 0 || !isReduction(cell)) return undefined;
  const { operation, dtype, m, n, d, batch } = cell;
  if (operation !== 'gaussianSum' || dtype !== 'float32' || d !== DIM) return undefined;
  return (m * n * batch * 1e3) / ms / rate;
}
