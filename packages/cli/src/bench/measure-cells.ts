import { tensor, type Device } from '@mercer/core';
import type { ErrorInUnits } from './accuracy.js';
import type { CellResult, SkippedCell } from './bench-report.js';
import { isLinear, isReduction, isSolver, type Cell } from './cells.js';
import type { DataSet } from './data-sets.js';
import { errorsOf } from './errors-of.js';
import { floorOf } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import {
  sizesOf,
  type Float,
  type FloatArray,
  type IterativeFigures,
  type Result,
  type Results,
} from './operations/operation.js';
import { operationOf } from './operations/operations.js';
import { toleranceOf } from './operations/solves.js';
import { isWrittenByHand, timeHandWritten } from './measure-hand-written.js';
import { spreadOf, type Spread } from './statistics.js';
import { measureCalls, STEADY_MS } from './timer.js';

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
  handWrittenMs?: Spread;
  iterative?: IterativeFigures;
  plan: string;
  /** Why there is no kernel for it. */
  refusal?: string;
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
  const operation = operationOf(first.cell);
  for (const set of operation.dataSet === undefined ? settings.dataSets : [operation.dataSet]) {
    const data = operation.makeData(set, first.cell);
    const tensors: Float[] = [];
    try {
      for (const [i, values] of data.entries()) {
        tensors.push(await place(values, first.cell, i, settings.device));
      }
      for (const entry of measured) {
        if (entry.refusal !== undefined) continue;
        onCell(entry.cell);
        await measureOne(entry, { set, data, tensors }, settings);
      }
    } finally {
      for (const used of tensors) used.dispose();
    }
  }
  return [
    ...results,
    ...measured.map(({ refusal, ...entry }) =>
      refusal === undefined ? finish(entry, settings.limits) : { ...entry.cell, reason: refusal },
    ),
  ];
}

async function measureOne(
  entry: Measured,
  { set, data, tensors }: Placed,
  { device, limits, maxSecondsPerCell }: CellSettings,
): Promise<void> {
  const { cell } = entry;
  const call = await operationOf(cell)
    .prepare(cell, tensors)
    .catch((error: unknown) => {
      if (!isUnsupported(error)) throw error;
      entry.refusal = error.message;
    });
  if (call === undefined) return;
  const out = await call.run();
  try {
    for (const result of out) await result.ready();
    if (entry.ms === undefined) {
      entry.plan = call.plan;
      const run = (): void | Promise<void> => {
        const results = call.run(out);
        if (!(results instanceof Promise)) return;
        return results.then((made) => {
          disposeOthers(made, out);
        });
      };
      const warmMs = call.iterative === undefined ? undefined : STEADY_MS;
      entry.ms = spreadOf(await measureCalls(device, maxSecondsPerCell, run, warmMs));
      if (call.iterative !== undefined) entry.iterative = await call.iterative(maxSecondsPerCell);
      // beside it, because a CPU's speed changes from second to second
      const isCompiled = limits.leftOut === undefined;
      if (device.limits.kind === 'cpu' && isCompiled && isWrittenByHand(cell)) {
        entry.handWrittenMs = await timeHandWritten(
          device,
          device.limits,
          tensors,
          maxSecondsPerCell,
        );
      }
    }
    entry.errors[set] = await errorsOf(cell, data, out);
  } finally {
    disposeOthers(out, []);
    call.dispose();
  }
}

/** A problem that the library has no kernel for. */
function isUnsupported(error: unknown): error is Error {
  return (
    error instanceof Error && 'code' in error && /^(UNSUPPORTED|LIMIT)$/.test(String(error.code))
  );
}

function disposeOthers(made: Results<Result>, kept: Results<Result>): void {
  for (const result of made) if (!kept.includes(result)) result.dispose();
}

function finish(
  { cell, ms, plan, errors, handWrittenMs, iterative }: Measured,
  limits: DeviceLimitsReport,
): CellResult {
  const timing = ms ?? spreadOf([0]);
  const floor =
    iterative === undefined
      ? floorOf(cell, limits)
      : { kind: 'products' as const, ms: iterative.iterations * iterative.productMs.median };
  const share = floor === undefined ? {} : { floor, shareOfFloor: floor.ms / timing.median };
  return {
    ...cell,
    ms: timing,
    plan,
    errors,
    ...share,
    ...(iterative !== undefined &&
      isSolver(cell) && {
        iterative: {
          ...iterative,
          residual: toleranceOf(cell) * Math.max(...Object.values(errors).map(({ max }) => max)),
          msPerIteration:
            (iterative.iterationsMs ?? timing).median / Math.max(1, iterative.iterations),
        },
      }),
    ...(handWrittenMs !== undefined && {
      handWrittenMs,
      shareOfHandWritten: handWrittenMs.median / timing.median,
    }),
  };
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
  // Where no loop stands for the arithmetic of a norm, it takes at least as long as that of p = 2.
  const isKernel = !isLinear(cell) && !isReduction(cell) && !isSolver(cell);
  const floor =
    floorOf(cell, limits) ?? (isKernel ? floorOf({ ...cell, p: 2 }, limits) : undefined);
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
