import { CliError } from '../../cli-error.js';
import type { BenchReport } from '../bench-report.js';
import { cellName } from '../cells.js';
import type { PeerCell } from '../peers.js';
import type { Spread } from '../statistics.js';

/** A row of a benchmark, with what stands beside it in the same run. */
export interface MeasuredRow {
  /** The same in every run of what is measured. */
  readonly name: string;
  /** Median, in the unit of the report. */
  readonly time: number;
  /** The least time that the hardware of the run allows. */
  readonly floor?: number;
  /** Medians of other libraries by their names. */
  readonly peers: ReadonlyMap<string, number>;
}

/** A row as suites without cells write it: `us` of a call. */
interface TimedRow {
  readonly operation: string;
  readonly library: string;
  readonly way: string;
  readonly n: number;
  readonly us: Spread;
  readonly floorUs?: number;
}

interface HostCall {
  readonly call: string;
  readonly ordinary?: { readonly idleUs: Spread };
  readonly prepared?: { readonly idleUs: Spread };
}

interface PeerHostCall {
  readonly call: string;
  readonly peer: string;
  readonly idleUs: Spread;
}

/** What reports of all suites may have. */
interface AnyReport {
  readonly suite?: unknown;
  readonly cells?: BenchReport['cells'];
  readonly rows?: readonly Partial<TimedRow>[];
  readonly calls?: readonly HostCall[];
  readonly peers?: {
    readonly cells?: readonly PeerCell[];
    readonly rows?: readonly TimedRow[];
    readonly calls?: readonly PeerHostCall[];
  };
}

/** A report, read: what it measured, and its rows. */
export interface MeasuredReport {
  readonly suite: string;
  readonly rows: readonly MeasuredRow[];
}

/**
 * The rows of a report of any suite whose rows have a floor or a peer.
 *
 * @throws CliError NOT_A_REPORT for other files
 */
export function measuredRows(file: string, text: string): MeasuredReport {
  const report = parsed(file, text);
  const { suite } = report;
  const rows = [...cellRows(report), ...timedRows(report), ...callRows(report)];
  if (typeof suite === 'string' && rows.length > 0) return { suite, rows };
  throw new CliError(
    'NOT_A_REPORT',
    `Cannot compare ${file}: it has no rows of mercer bench with a floor or a peer. Give files that --out of mercer bench cdist, kermac, keops, linalg, solvers, calls, autodiff or optim wrote.`,
  );
}

function parsed(file: string, text: string): AnyReport {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (cause) {
    throw new CliError('NOT_A_REPORT', `Cannot compare ${file}: it is no JSON.`, { cause });
  }
}

function cellRows({ cells = [], peers }: AnyReport): MeasuredRow[] {
  return cells.map((cell) => {
    const name = cellName(cell);
    const beside = (peers?.cells ?? []).filter((peer) => cellName(peer) === name);
    return {
      name,
      time: cell.ms.median,
      ...(cell.floor && { floor: cell.floor.ms }),
      peers: medians(beside.map(({ peer, ms }) => [peer, ms])),
    };
  });
}

function timedRows({ rows = [], peers }: AnyReport): MeasuredRow[] {
  return rows.filter(isTimed).map(({ operation, way, n, us, floorUs }) => {
    const beside = (peers?.rows ?? []).filter(
      (peer) => peer.operation === operation && peer.n === n,
    );
    return {
      name: `${operation} ${n}, ${way}`,
      time: us.median,
      ...(floorUs !== undefined && { floor: floorUs }),
      peers: medians(beside.map((peer) => [`${peer.library} ${peer.way}`, peer.us])),
    };
  });
}

const isTimed = (row: Partial<TimedRow>): row is TimedRow =>
  row.us !== undefined && row.operation !== undefined && row.n !== undefined;

function callRows({ calls = [], peers }: AnyReport): MeasuredRow[] {
  return calls.flatMap((one) =>
    (['ordinary', 'prepared'] as const).flatMap((way) => {
      const spread = one[way]?.idleUs;
      if (spread === undefined) return [];
      const beside = (peers?.calls ?? []).filter(({ call }) => call === one.call);
      return {
        name: `${one.call}, ${way}`,
        time: spread.median,
        peers: medians(beside.map(({ peer, idleUs }) => [peer, idleUs])),
      };
    }),
  );
}

const medians = (
  spreads: readonly (readonly [name: string, spread: Spread | undefined])[],
): Map<string, number> =>
  new Map(spreads.flatMap(([name, spread]) => (spread ? [[name, spread.median]] : [])));
