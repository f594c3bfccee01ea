import type { ErrorInUnits } from './accuracy.js';
import type { Cell } from './cells.js';
import type { CompileTimes, DescriptorCompileTimes } from './compile-times.js';
import type { DataSet } from './data-sets.js';
import type { Floor } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import type { MachineDescription } from './machine.js';
import type { PeerReport } from './peers.js';
import type { IterativeFigures } from './operations/operation.js';
import type { Spread } from './statistics.js';

/** One measured cell. */
export type CellResult = Cell & Measurement;

/** What was measured of a cell. */
export interface Measurement {
  readonly ms: Spread;
  /** Which plan the kernel follows, in one line. */
  readonly plan: string;
  /** Error on each kind of data; the times are those of the first. `errorUnit` of the report says what it counts. */
  readonly errors: Readonly<Partial<Record<DataSet, ErrorInUnits>>>;
  readonly floor?: Floor;
  /** Floor by median time: 1 is the limit. */
  readonly shareOfFloor?: number;
  /** Of iterative solutions. */
  readonly iterative?: IterativeMeasurement;
  /** The time of a loop written by hand on the same operands, measured behind it, on a CPU where there is one. */
  readonly handWrittenMs?: Spread;
  /** Its median by that of `ms`: above 1 the loop is slower. */
  readonly shareOfHandWritten?: number;
}

/** What was measured of an iterative solution. */
export interface IterativeMeasurement extends IterativeFigures {
  /** The norm of b - A x by that of b, in float64 from the values of b and x. */
  readonly residual: number;
  /** The time of a call, without the preconditioner's making, by its iterations. */
  readonly msPerIteration: number;
}

/** A cell that was not measured, and why. */
export type SkippedCell = Cell & { readonly reason: string };

/** A cell that takes more than twice its floor, and why. */
export type SlowCell = Cell & { readonly shareOfFloor: number; readonly reason: string };

/** Microseconds of one steady call from JavaScript, until it returns; the device works on behind it. */
export interface CallOverhead {
  /** Prepared, into an output that exists. */
  readonly preparedUs: number;
  /** Prepared, with a new result that is disposed at once. */
  readonly preparedNewUs: number;
  readonly awaitedUs: number;
  readonly calls: number;
}

/** The suites of cells. */
export type SuiteName = 'cdist' | 'kermac' | 'linalg' | 'keops' | 'solvers';

/** The result of `mercer bench cdist`, `kermac`, `linalg`, `keops` or `solvers`: what is written as JSON. */
export interface BenchReport {
  readonly schema: 1;
  readonly suite: SuiteName;
  readonly command: string;
  readonly startedAt: string;
  readonly machine: MachineDescription;
  readonly device: DeviceDescription;
  /** What the operations of the cells compute. */
  readonly operations: Readonly<Record<string, string>>;
  /** What the kinds of data are; the first was timed. */
  readonly dataSets: Readonly<Record<string, string>>;
  /** What the errors of cells and peers count. */
  readonly errorUnit: string;
  readonly limits: DeviceLimitsReport;
  /** Of a distance kernel; suites cdist and kermac. */
  readonly callOverhead?: CallOverhead;
  readonly compile?: CompileTimes;
  /** The whole set of descriptors compiled at once; suite kermac. */
  readonly descriptors?: DescriptorCompileTimes;
  readonly cells: readonly CellResult[];
  readonly belowHalfOfFloor: readonly SlowCell[];
  readonly skipped: readonly SkippedCell[];
  readonly peers: PeerReport;
}

/** The device that was measured. */
export interface DeviceDescription {
  readonly id: string;
  readonly name: string;
  readonly driver?: string;
  readonly nvrtc?: string;
  readonly compiler?: string;
  readonly limits: unknown;
}
