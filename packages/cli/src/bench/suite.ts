import { cpu, cuda, type Device } from '@mercer/core';
import type {
  BenchReport,
  CellResult,
  DeviceDescription,
  SkippedCell,
  SlowCell,
  SuiteName,
} from './bench-report.js';
import { callOverhead } from './call-overhead.js';
import { cellName, cellOf, groupByOperands, type Cell } from './cells.js';
import { compileTimes, descriptorCompileTimes } from './compile-times.js';
import { DATA_SET_TEXT, type DataSet } from './data-sets.js';
import { slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { commandLine, describeMachine } from './machine.js';
import { measureCells } from './measure-cells.js';
import { measureLimits } from './measure-limits.js';
import { operationOf } from './operations/operations.js';
import { RESIDUAL_LIMIT } from './operations/residuals.js';
import { runPeers, type PeerReport } from './peers.js';

/** What `mercer bench cdist`, `kermac`, `linalg`, `keops` or `solvers` runs. */
export interface SuiteOptions {
  readonly suite: SuiteName;
  readonly device: Device;
  readonly cells: readonly Cell[];
  readonly dataSets: readonly DataSet[];
  readonly maxSecondsPerCell: number;
  /** Also time compilation, in processes of their own. */
  readonly compileTimes: boolean;
  /** The Python that is asked for peers; none without it. */
  readonly python?: string | undefined;
  readonly kermacPath?: string | undefined;
  readonly keopsPath?: string | undefined;
  /** The peers begin no cell after so many seconds. */
  readonly maxPeerSeconds?: number | undefined;
  /** Given the report without the peers, before they are measured. */
  readonly onMeasured?: ((report: BenchReport) => Promise<void>) | undefined;
  readonly onProgress: (text: string, done?: number, total?: number) => void;
}

const ROUNDING = 'rounding: 2^-24 or 2^-53 of the value or of the sum of its terms';
const TOLERANCE =
  'the tolerance, 1e-4 in float32 and 1e-8 in float64: the norm of b - A x by that of b, computed in float64';
const ERROR_UNITS: Readonly<Record<SuiteName, string>> = {
  cdist: ROUNDING,
  kermac: ROUNDING,
  keops:
    "rounding: 2^-24 or 2^-53 of the sum of the terms' magnitudes, of 1 + |value| for logSumExp, of the true squared distance for row numbers; for solve and inverseKernel " +
    TOLERANCE,
  solvers: TOLERANCE,
  linalg: `n eps norm, eps 2^-23 or 2^-52; LAPACK's tests accept less than ${RESIDUAL_LIMIT}`,
};

/** Measures limits, call overhead, compile times, every cell and the peers, in this order in one run. */
export async function runSuite(options: SuiteOptions): Promise<BenchReport> {
  const { suite, device, cells, onProgress } = options;
  const startedAt = new Date().toISOString();
  const limits = await measureLimits(device, (title) => {
    onProgress(`limits: ${title}`);
  });
  const isDistance = suite === 'cdist' || suite === 'kermac';
  if (isDistance) onProgress('call overhead');
  const overhead = isDistance ? await callOverhead(device) : undefined;
  onProgress('compile times');
  const compile = options.compileTimes ? await compileTimes(device) : undefined;
  const descriptors =
    options.compileTimes && suite === 'kermac' ? await descriptorCompileTimes(device) : undefined;
  const measured: CellResult[] = [];
  const skipped: SkippedCell[] = [];
  const visited = new Set<Cell>();
  for (const group of groupByOperands(cells)) {
    const results = await measureCells(group, { ...options, limits }, (cell) => {
      visited.add(cell);
      onProgress(cellName(cell), visited.size, cells.length);
    });
    for (const result of results) {
      if ('reason' in result) skipped.push(result);
      else measured.push(result);
    }
  }
  const report: BenchReport = {
    schema: 1,
    suite,
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: describeDevice(device),
    operations: Object.fromEntries(cells.map((cell) => [cell.operation, operationOf(cell).text])),
    dataSets: Object.fromEntries(
      [...options.dataSets, ...cells.flatMap((cell) => operationOf(cell).dataSet ?? [])].map(
        (set) => [set, DATA_SET_TEXT[set]],
      ),
    ),
    errorUnit: ERROR_UNITS[suite],
    limits,
    ...(overhead === undefined ? {} : { callOverhead: overhead }),
    ...(compile === undefined ? {} : { compile }),
    ...(descriptors === undefined ? {} : { descriptors }),
    cells: measured,
    belowHalfOfFloor: measured.flatMap((cell) => slow(cell, device, limits)),
    skipped,
    peers: { found: false, reason: 'not measured yet', versions: {}, cells: [] },
  };
  await options.onMeasured?.(report);
  return { ...report, peers: await peers(measured, options) };
}

function slow(result: CellResult, device: Device, limits: DeviceLimitsReport): SlowCell[] {
  const { floor, shareOfFloor } = result;
  if (floor === undefined || shareOfFloor === undefined || shareOfFloor >= 0.5) return [];
  const cell = cellOf(result);
  const launch = limits.limits.find((entry) => entry.limit === 'launch');
  const reason = slowReason(cell, floor, residentThreads(device), launch?.ms.median ?? 0);
  return [{ ...cell, shareOfFloor, reason }];
}

function residentThreads({ limits }: Device): number {
  return limits.kind === 'cuda' ? limits.multiprocessors * 2048 : limits.cores;
}

async function peers(measured: readonly CellResult[], options: SuiteOptions): Promise<PeerReport> {
  const { suite, device, maxSecondsPerCell, maxPeerSeconds, python, onProgress } = options;
  const { kermacPath, keopsPath, compileTimes: timed } = options;
  if (python === undefined) {
    return { found: false, reason: 'no Python was asked for peers', versions: {}, cells: [] };
  }
  const cells = measured.map(cellOf);
  return runPeers(cells, {
    python,
    device: device.id,
    ...(device.limits.kind === 'cpu' ? { threads: device.limits.cores } : {}),
    maxSecondsPerCell,
    maxSeconds: maxPeerSeconds,
    compilation: timed && suite === 'kermac',
    ...(kermacPath === undefined ? {} : { kermacPath }),
    ...(keopsPath === undefined ? {} : { keopsPath }),
    onProgress: (done) => {
      onProgress('peers', done, cells.length);
    },
  });
}

function describeDevice(device: Device): DeviceDescription {
  const { id, name, limits } = device;
  if (device.kind === 'cpu') {
    const { compiler } = cpu.report();
    return { id, name, limits, ...(compiler === undefined ? {} : { compiler: compiler.version }) };
  }
  const { driver, nvrtc } = cuda.report();
  return {
    id,
    name,
    limits,
    ...(driver.version === undefined ? {} : { driver: driver.version }),
    ...(nvrtc.version === undefined ? {} : { nvrtc: nvrtc.version }),
  };
}
