import { tensor, type Device } from '@mercer/core';
import { residualError, sampledError, sampleOf, type ErrorInUnits } from './accuracy.js';
import type { CellResult, SkippedCell } from './bench-report.js';
import { isLinear, type Cell, type KernelCell, type LinearCell } from './cells.js';
import type { DataSet } from './data-sets.js';
import { floorOf } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { sizesOf, type Float, type FloatArray, type Results } from './operations/operation.js';
import { LINEAR_OPERATIONS, operationOf, OPERATIONS } from './operations/operations.js';
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

/** Operands are made on the host; more than this would take longer to make than to measure. */
const MOST_OPERAND_BYTES = 2 ** 33;

interface Measured {
  readonly cell: Cell;
  readonly errors: Partial<Record<DataSet, ErrorInUnits>>;
  ms?: Spread;
  plan: string;
}

/** Operands on the host and on the device. */
interface Placed {
  readonly set: DataSet;
  readonly data: readonly FloatArray[];
  readonly tensors: readonly Float[];
}

/** Times cells that share their operands and checks their results, or says why one was skipped. */
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
    const data = operationOf(first.cell).makeData(set, first.cell);
    const tensors: Float[] = [];
    try {
      for (const [i, values] of data.entries()) {
        tensors.push(await place(values, first.cell, i, settings.device));
      }
      for (const entry of measured) {
        onCell(entry.cell);
        await measureOne(entry, { set, data, tensors }, settings);
      }
    } finally {
      for (const used of tensors) used.dispose();
    }
  }
  return [...results, ...measured.map((entry) => finish(entry, settings.limits))];
}

async function measureOne(
  entry: Measured,
  { set, data, tensors }: Placed,
  { device, maxSecondsPerCell }: CellSettings,
): Promise<void> {
  const { cell } = entry;
  const call = await operationOf(cell).prepare(cell, tensors);
  const out = await call.run();
  try {
    for (const result of out) await result.ready();
    if (entry.ms === undefined) {
      entry.plan = call.plan;
      entry.ms = spreadOf(
        await measureCalls(device, maxSecondsPerCell, () => {
          const results = call.run(out);
          if (!(results instanceof Promise)) return;
          return results.then((made) => {
            disposeOthers(made, out);
          });
        }),
      );
    }
    entry.errors[set] = isLinear(cell)
      ? await residualOf(cell, data, out)
      : await errorOf(cell, data, out);
  } finally {
    disposeOthers(out, []);
    call.dispose();
  }
}

function disposeOthers(made: Results, kept: Results): void {
  for (const result of made) if (!kept.includes(result)) result.dispose();
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
  const { bytes, operandBytes } = sizesOf(operationOf(cell), cell);
  const { freeBytes } = device.memory();
  if (bytes > freeBytes * 0.9) {
    return `needs ${bytes} bytes and ${device.id} has ${freeBytes} free`;
  }
  if (operandBytes > MOST_OPERAND_BYTES) {
    return `its operands of ${operandBytes} bytes exceed the ${MOST_OPERAND_BYTES} that are made on the host`;
  }
  // Where no loop stands for the arithmetic, it takes at least as long as that of p = 2.
  const floor =
    floorOf(cell, limits) ?? (isLinear(cell) ? undefined : floorOf({ ...cell, p: 2 }, limits));
  if (floor !== undefined && floor.ms > maxSecondsPerCell * 1e3) {
    return `takes at least ${(floor.ms / 1e3).toFixed(1)} s a call and the limit is ${maxSecondsPerCell} s (--max-seconds)`;
  }
  return undefined;
}

async function place(
  values: FloatArray,
  cell: Cell,
  index: number,
  device: Device,
): Promise<Float> {
  const matrix = operationOf(cell).operands(cell)[index]?.shape ?? [];
  const shape = cell.batch === 1 ? matrix : [cell.batch, ...matrix];
  return tensor(values, { shape, device });
}

async function residualOf(
  cell: LinearCell,
  data: readonly FloatArray[],
  results: Results,
): Promise<ErrorInUnits> {
  const values = await Promise.all(results.map((result) => result.toTypedArray()));
  return residualError(LINEAR_OPERATIONS[cell.operation].residuals(cell, data, values));
}

async function errorOf(
  cell: KernelCell,
  data: readonly FloatArray[],
  [out]: Results,
): Promise<ErrorInUnits> {
  if (out === undefined) throw new RangeError(`${cell.operation} has no result`);
  const sizes = sizesOf(OPERATIONS[cell.operation], cell);
  const rows = sizes.rows * cell.batch;
  const sample = sampleOf(rows, sizes.columns);
  const flat = out.reshape([rows, sizes.columns]);
  const values: ArrayLike<number>[] = [];
  for (const row of sample.rows) {
    const line = flat.slice(row);
    values.push(await line.toTypedArray());
    line.dispose();
  }
  flat.dispose();
  return sampledError(cell, data, sample, values);
}
