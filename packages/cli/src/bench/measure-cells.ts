import { cdist, tensor, type Device, type Tensor } from '@mercer/core';
import { sampledError, sampleOf, type ErrorInUnits } from './accuracy.js';
import type { CellResult, SkippedCell } from './bench-report.js';
import { cellBytes, operandBytes, type Cell } from './cells.js';
import { makeOperands, type DataSet, type Operands } from './data-sets.js';
import { floorOf } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { spreadOf, type Spread } from './statistics.js';
import { measureCalls } from './timer.js';

/** What measuring cells needs to know. */
export interface CellSettings {
  readonly device: Device;
  readonly limits: DeviceLimitsReport;
  /** Cells that would take longer for one call are skipped. */
  readonly maxSecondsPerCell: number;
  /** The first is timed; the error is taken on each. */
  readonly dataSets: readonly DataSet[];
}

type Float = Tensor<'float32' | 'float64'>;

/** Operands are made on the host; more than this would take longer to make than to measure. */
const MOST_OPERAND_BYTES = 2 ** 33;

interface Measured {
  readonly cell: Cell;
  readonly errors: Partial<Record<DataSet, ErrorInUnits>>;
  ms?: Spread;
  plan: string;
}

/** Times cells that share their operands and checks their distances, or says why one was skipped. */
export async function measureCells(
  cells: readonly Cell[],
  settings: CellSettings,
  onCell: (cell: Cell) => void,
): Promise<(CellResult | SkippedCell)[]> {
  const results: (CellResult | SkippedCell)[] = [];
  const measured: Measured[] = [];
  for (const cell of cells) {
    const reason = reasonToSkip(cell, settings);
    if (reason === undefined) measured.push({ cell, errors: {}, plan: '' });
    else results.push({ ...cell, reason });
  }
  const [first] = measured;
  if (first === undefined) return results;
  for (const set of settings.dataSets) {
    const { dtype, m, n, k, batch } = first.cell;
    const operands = makeOperands(set, dtype, m * batch, n * batch, k);
    const a = await place(operands.a, first.cell, m, settings.device);
    const b = await place(operands.b, first.cell, n, settings.device);
    try {
      for (const entry of measured) {
        onCell(entry.cell);
        await measureOne(entry, { a, b, operands, set }, settings);
      }
    } finally {
      a.dispose();
      b.dispose();
    }
  }
  return [...results, ...measured.map((entry) => finish(entry, settings.limits))];
}

async function measureOne(
  entry: Measured,
  data: { a: Float; b: Float; operands: Operands; set: DataSet },
  { device, maxSecondsPerCell }: CellSettings,
): Promise<void> {
  const { cell } = entry;
  const { a, b, operands, set } = data;
  const prepared = await cdist.prepare(a, b, { p: cell.p });
  const out = prepared(a, b);
  try {
    await out.ready();
    if (entry.ms === undefined) {
      entry.plan = prepared.plan.summary;
      entry.ms = spreadOf(
        await measureCalls(device, maxSecondsPerCell, () => {
          prepared(a, b, { out });
        }),
      );
    }
    entry.errors[set] = await errorOf(cell, operands, out);
  } finally {
    out.dispose();
  }
}

function finish({ cell, ms, plan, errors }: Measured, limits: DeviceLimitsReport): CellResult {
  const timing = ms ?? spreadOf([0]);
  const floor = floorOf(cell, limits);
  const share = floor === undefined ? {} : { floor, shareOfFloor: floor.ms / timing.median };
  return { ...cell, ms: timing, plan, errors, ...share };
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
  if (operandBytes(cell) > MOST_OPERAND_BYTES) {
    return `its operands of ${operandBytes(cell)} bytes exceed the ${MOST_OPERAND_BYTES} that are made on the host`;
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
  flat.dispose();
  return sampledError(cell, operands, sample, values);
}
