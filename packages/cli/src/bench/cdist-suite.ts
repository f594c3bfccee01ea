import { cpu, cuda, type Device } from '@mercer/core';
import type {
  BenchReport,
  CellResult,
  DeviceDescription,
  SkippedCell,
  SlowCell,
} from './bench-report.js';
import { callOverhead } from './call-overhead.js';
import { cellName, groupByOperands, type Cell } from './cells.js';
import { compileTimes } from './compile-times.js';
import { DATA_SET_TEXT, type DataSet } from './data-sets.js';
import { slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { commandLine, describeMachine } from './machine.js';
import { measureCells } from './measure-cells.js';
import { measureLimits } from './measure-limits.js';
import { runPeers, type PeerReport } from './peers.js';

/** What `mercer bench cdist` runs. */
export interface SuiteOptions {
  readonly device: Device;
  readonly cells: readonly Cell[];
  readonly dataSets: readonly DataSet[];
  readonly maxSecondsPerCell: number;
  /** The Python that is asked for peers; none without it. */
  readonly python?: string | undefined;
  readonly kermacPath?: string | undefined;
  readonly onProgress: (text: string, done?: number, total?: number) => void;
}

/** Measures limits, call overhead, compile times, every cell and the peers, in this order in one run. */
export async function runCdistSuite(options: SuiteOptions): Promise<BenchReport> {
  const { device, cells, onProgress } = options;
  const startedAt = new Date().toISOString();
  const limits = await measureLimits(device, (title) => {
    onProgress(`limits: ${title}`);
  });
  onProgress('call overhead');
  const overhead = await callOverhead(device);
  onProgress('compile times');
  const compile = await compileTimes(device);
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
  return {
    schema: 1,
    suite: 'cdist',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: describeDevice(device),
    dataSets: Object.fromEntries(options.dataSets.map((set) => [set, DATA_SET_TEXT[set]])),
    limits,
    callOverhead: overhead,
    compile,
    cells: measured,
    belowHalfOfFloor: measured.flatMap((cell) => slow(cell, device, limits)),
    skipped,
    peers: await peers(measured, options),
  };
}

function slow(result: CellResult, device: Device, limits: DeviceLimitsReport): SlowCell[] {
  const { floor, shareOfFloor, dtype, p, m, n, k, batch } = result;
  if (floor === undefined || shareOfFloor === undefined || shareOfFloor >= 0.5) return [];
  const cell: Cell = { dtype, p, m, n, k, batch };
  const launch = limits.limits.find((entry) => entry.limit === 'launch');
  const reason = slowReason(cell, floor, residentThreads(device), launch?.ms.median ?? 0);
  return [{ ...cell, shareOfFloor, reason }];
}

function residentThreads({ limits }: Device): number {
  return limits.kind === 'cuda' ? limits.multiprocessors * 2048 : limits.cores;
}

async function peers(measured: readonly CellResult[], options: SuiteOptions): Promise<PeerReport> {
  const { device, maxSecondsPerCell, python, kermacPath, onProgress } = options;
  if (python === undefined) {
    return { found: false, reason: 'no Python was asked for peers', versions: {}, cells: [] };
  }
  const cells = measured.map(({ dtype, p, m, n, k, batch }) => ({ dtype, p, m, n, k, batch }));
  return runPeers(cells, {
    python,
    device: device.id,
    maxSecondsPerCell,
    ...(kermacPath === undefined ? {} : { kermacPath }),
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
    ...{ id, name, limits },
    ...(driver.version === undefined ? {} : { driver: driver.version }),
    ...(nvrtc.version === undefined ? {} : { nvrtc: nvrtc.version }),
  };
}
