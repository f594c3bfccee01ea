import { cdist, tensor, type Device, type Tensor } from '@mercer/core';
import { sampledError, sampleOf, type ErrorInUnits } from './accuracy.js';
import type { CellResult, SkippedCell } from './bench-report.js';
import { cellBytes, type Cell } from './cells.js';
import { makeOperands, type DataSet, type Operands } from './data-sets.js';
import { floorOf } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { spreadOf, type Spread } from './statistics.js';
import { measureCalls } from './timer.js';

/** What a cell's measurement needs to know. */
export interface CellSettings {
  readonly device: Device;
  readonly limits: DeviceLimitsReport;
  /** Cells that would take longer for one call are skipped. */
  readonly maxSecondsPerCell: number;
  /** The first is timed; the error is taken on each. */
  readonly dataSets: readonly DataSet[];
}

type Float = Tensor<'float32' | 'float64'>;

/** Times one cell and checks its distances, or says why it was skipped. */
export async function measureCell(
  cell: Cell,
  settings: CellSettings,
): Promise<CellResult | SkippedCell> {
  const reason = reasonToSkip(cell, settings);
  if (reason !== undefined) return { ...cell, reason };
  const { device, dataSets, limits } = settings;
  const errors: Partial<Record<DataSet, ErrorInUnits>> = {};
  let ms: Spread | undefined;
  let plan = '';
  for (const set of dataSets) {
    const operands = makeOperands(
      set,
      cell.dtype,
      cell.m * cell.batch,
      cell.n * cell.batch,
      cell.k,
    );
    const a = await place(operands.a, cell, cell.m, device);
    const b = await place(operands.b, cell, cell.n, device);
    const prepared = await cdist.prepare(a, b, { p: cell.p });
    const out = prepared(a, b);
    try {
      await out.ready();
      if (ms === undefined) {
        plan = prepared.plan.summary;
        const times = await measureCalls(device, settings.maxSecondsPerCell, () => {
          prepared(a, b, { out });
        });
        ms = spreadOf(times);
      }
      errors[set] = await errorOf(cell, operands, out);
    } finally {
      for (const used of [a, b, out]) used.dispose();
    }
  }
  const floor = floorOf(cell, limits);
  const timing = ms ?? spreadOf([0]);
  return {
    ...cell,
    ms: timing,
    plan,
    errors,
    ...(floor === undefined ? {} : { floor, shareOfFloor: floor.ms / timing.median }),
  };
}

function reasonToSkip(
  cell: Cell,
  { device, limits, maxSecondsPerCell }: CellSettings,
): string | undefined {
  const bytes = cellBytes(cell);
  const { freeBytes } = device.memory();
  if (bytes > freeBytes * 0.9) {
    return `needs ${bytes} bytes and ${device.id} has ${freeBytes} free`;
  }
  const floor = floorOf(cell, limits);
  if (floor !== undefined && floor.ms > maxSecondsPerCell * 1e3) {
    return `takes at least ${(floor.ms / 1e3).toFixed(1)} s a call and the limit is ${maxSecondsPerCell} s (--max-seconds)`;
  }
  return undefined;
}

async function place(
  data: Float32Array | Float64Array,
  cell: Cell,
  rows: number,
  device: Device,
): Promise<Float> {
  const shape = cell.batch === 1 ? [rows, cell.k] : [cell.batch, rows, cell.k];
  return tensor(data, { shape, device });
}

async function errorOf(cell: Cell, operands: Operands, out: Float): Promise<ErrorInUnits> {
  const rows = cell.m * cell.batch;
  const sample = sampleOf(rows, cell.n);
  const flat = out.reshape([rows, cell.n]);
  const values: ArrayLike<number>[] = [];
  for (const row of sample.rows) {
    const line = flat.slice(row);
    values.push(await line.toTypedArray());
    line.dispose();
  }
  return sampledError(cell, operands, sample, values);
}
