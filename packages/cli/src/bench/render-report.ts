import { formatMs, formatP, formatRate, formatShare, significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import type { BenchReport, CallOverhead, CellResult, SuiteName } from './bench-report.js';
import { cellName, cellWork, isLinear, isReduction, isSolver, type Cell } from './cells.js';
import type { CompileTimes } from './compile-times.js';
import type { DeviceLimitsReport } from './limits.js';
import { RESIDUAL_LIMIT } from './operations/residuals.js';
import { logPlot, type Series } from './plot.js';

/** The limits of a device as a table. */
export function renderLimits(report: DeviceLimitsReport, output: Output): string {
  const table = output.table(
    [
      { head: 'limit' },
      { head: 'what runs' },
      { head: 'median', align: 'right' },
      { head: 'p10 .. p90', align: 'right' },
      { head: 'rate', align: 'right' },
    ],
    report.limits.map((entry) => [
      entry.limit,
      entry.title,
      formatMs(entry.ms.median),
      `${formatMs(entry.ms.p10)} .. ${formatMs(entry.ms.p90)}`,
      entry.pairsPerSecond !== undefined
        ? formatRate(entry.pairsPerSecond, 'pair/s')
        : entry.bytesPerSecond !== undefined
          ? formatRate(entry.bytesPerSecond, 'B/s')
          : entry.issuePerSecond !== undefined
            ? formatRate(entry.issuePerSecond, 'op/s')
            : '-',
    ]),
  );
  const { leftOut } = report;
  return [
    output.heading(`Limits of ${report.device} (${report.deviceName})`),
    table,
    ...(leftOut === undefined ? [] : [`Left out: ${leftOut}.`]),
  ].join('\n');
}

/** The whole report as text. */
export function renderReport(report: BenchReport, output: Output): string {
  const { callOverhead, compile } = report;
  return [
    renderLimits(report.limits, output),
    callOverhead === undefined
      ? ''
      : `${output.heading('Calls')}\n${calls(callOverhead)}${firstKernel(compile)}`,
    descriptorSet(report, output),
    `${output.heading(`${report.suite} on ${report.device.id} (${report.device.name})`)}\n${cells(report, output)}`,
    solves(report, output),
    slowCells(report, output),
    skipped(report, output),
    residualLine(report),
    peersLine(report),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function calls({ preparedUs, preparedNewUs, awaitedUs }: CallOverhead): string {
  return `prepared ${significant(preparedUs)} us into an output and ${significant(preparedNewUs)} us with a new one, awaited ${significant(awaitedUs)} us a call`;
}

function firstKernel(compile: CompileTimes | undefined): string {
  if (compile === undefined) return '';
  return `; first kernel of a process ${formatMs(compile.coldMs)} cold, ${formatMs(compile.warmMs)} from the store`;
}

/** What it takes to compile all ready-made descriptors, beside the peer that can do so too. */
function descriptorSet({ descriptors, peers }: BenchReport, output: Output): string {
  if (descriptors === undefined) return '';
  const { coldMs, warmMs, kernels, cores } = descriptors;
  const other = peers.compilation;
  const rows = [
    [
      'mercer',
      `${descriptors.descriptors} descriptors, ${kernels} kernels, ${cores} cores`,
      formatMs(coldMs),
      formatMs(warmMs),
    ],
    ...(other === undefined
      ? []
      : [[other.peer, `${other.descriptors} descriptors`, formatMs(other.ms), '-']]),
  ];
  const table = output.table(
    [
      { head: 'by' },
      { head: 'what' },
      { head: 'empty store', align: 'right' },
      { head: 'filled store', align: 'right' },
    ],
    rows,
  );
  return `${output.heading('Compiling every descriptor')}\n${table}`;
}

function cells(report: BenchReport, output: Output): string {
  const peerNames = [...new Set(report.peers.cells.map((cell) => cell.peer))];
  const hasHandWritten = report.cells.some((cell) => cell.shareOfHandWritten !== undefined);
  return output.table(
    [
      { head: 'cell' },
      { head: 'median', align: 'right' },
      { head: 'p10 .. p90', align: 'right' },
      { head: 'floor', align: 'right' },
      { head: 'share', align: 'right' },
      ...(hasHandWritten ? [{ head: 'by hand', align: 'right' as const }] : []),
      { head: ERROR_HEAD[report.suite] ?? 'error (u)', align: 'right' },
      ...peerNames.map((head) => ({ head, align: 'right' as const })),
    ],
    report.cells.map((cell) => [
      cellName(cell),
      formatMs(cell.ms.median),
      `${formatMs(cell.ms.p10)} .. ${formatMs(cell.ms.p90)}`,
      cell.floor === undefined ? '-' : `${formatMs(cell.floor.ms)} ${cell.floor.kind}`,
      formatShare(cell.shareOfFloor),
      ...(hasHandWritten ? [formatShare(cell.shareOfHandWritten)] : []),
      report.suite === 'linalg' ? worstResidual(cell) : worstError(cell),
      ...peerNames.map((peer) => peerTime(report, cell, peer)),
    ]),
  );
}

const ERROR_HEAD: Partial<Record<SuiteName, string>> = {
  linalg: 'residual',
  solvers: 'residual by tolerance',
};

/** The largest error over all kinds of data, and on which. */
function worstError(cell: CellResult): string {
  const [worst] = Object.entries(cell.errors).sort(([, a], [, b]) => b.max - a.max);
  return worst === undefined ? '-' : `${significant(worst[1].max)} ${worst[0]}`;
}

/** The largest scaled residual, marked where LAPACK's tests would refuse it. */
function worstResidual({ errors }: CellResult): string {
  const max = Math.max(0, ...Object.values(errors).map((error) => error.max));
  return max < RESIDUAL_LIMIT ? significant(max) : `${significant(max)} WRONG`;
}

function peerTime(report: BenchReport, cell: Cell, peer: string): string {
  const found = report.peers.cells.find((other) => other.peer === peer && sameCell(other, cell));
  if (found?.ms === undefined || found.error !== undefined)
    return (found?.error ?? '-').slice(0, 24);
  const { ms, maxErrorInUnits: units } = found;
  return `${formatMs(ms.median)}${units === undefined ? '' : ` (${significant(units)}${isLinear(cell) || isSolver(cell) ? '' : ' u'})`}`;
}

function sameCell(a: Cell, b: Cell): boolean {
  return cellName(a) === cellName(b);
}

/** What iterative solutions are made of, with the peers that solve the same system. */
function solves(report: BenchReport, output: Output): string {
  const own = report.cells.filter((cell) => cell.iterative !== undefined);
  if (own.length === 0) return '';
  const ms = (value: number | undefined): string => (value === undefined ? '-' : formatMs(value));
  const line = (
    who: string,
    median: number | undefined,
    { iterations, residual }: Partial<Record<'iterations' | 'residual', number>>,
    perIteration: number | undefined,
  ): string[] => [
    who,
    ms(median),
    String(iterations ?? '-'),
    ms(perIteration),
    residual === undefined ? '-' : residual.toExponential(1),
  ];
  const rows = own.flatMap((cell) => {
    const { iterative } = cell;
    if (iterative === undefined) return [];
    const others = report.peers.cells.filter((other) => sameCell(other, cell));
    return [
      [
        cellName(cell),
        ...line(
          iterative.converged ? 'mercer' : 'mercer, not converged',
          cell.ms.median,
          iterative,
          iterative.msPerIteration,
        ),
        ms(iterative.productMs.median),
        ms(iterative.preconditionerMs?.median),
      ],
      ...others.map(({ peer, ms: time, ...other }) => {
        const each = time && other.iterations && time.median / other.iterations;
        return ['', ...line(peer, time?.median, other, each), '-', '-'];
      }),
    ];
  });
  const heads = ['time', 'iterations', 'an iteration', 'residual', 'a product', 'preconditioner'];
  const table = output.table(
    [
      { head: 'system' },
      { head: 'by' },
      ...heads.map((head) => ({ head, align: 'right' as const })),
    ],
    rows,
  );
  return `${output.heading('Iterations, and true residuals by the norm of the right-hand side')}\n${table}`;
}

function slowCells(report: BenchReport, output: Output): string {
  if (report.belowHalfOfFloor.length === 0) return '';
  const lines = report.belowHalfOfFloor.map(
    (cell) => `  ${cellName(cell)}: ${formatShare(cell.shareOfFloor)}; ${cell.reason}`,
  );
  return [output.heading('Below half of the floor'), ...lines].join('\n');
}

function skipped(report: BenchReport, output: Output): string {
  if (report.skipped.length === 0) return '';
  const lines = report.skipped.map((cell) => `  ${cellName(cell)}: ${cell.reason}`);
  return [output.heading('Not measured'), ...lines].join('\n');
}

function residualLine({ suite, errorUnit }: BenchReport): string {
  return suite === 'linalg' ? `Residuals are in units of ${errorUnit}` : '';
}

function peersLine(report: BenchReport): string {
  const { found, reason, versions } = report.peers;
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const missing = reason === undefined ? '' : ` (${reason.split('\n')[0] ?? ''})`;
  return found ? `Peers: ${names.join(', ')}${missing}` : `No peers${missing}`;
}

/** Time against the work of a cell, or its points, for each operation, norm or dimension, and peer, with the floors dashed. */
export function plotReport(report: BenchReport): string {
  const series: Series[] = [];
  const peers = [...new Set(report.peers.cells.map((cell) => cell.peer))];
  const groups = groupByLine(report.cells);
  for (const [group, [name, own]] of [...groups].entries()) {
    const points = own.map((cell) => ({ x: sizeOf(cell), y: cell.ms.median }));
    series.push({ name, points, group, style: 'own' });
    const floors = own.flatMap((cell) =>
      cell.floor === undefined ? [] : [{ x: sizeOf(cell), y: cell.floor.ms }],
    );
    series.push({ name: `${name}, floor`, points: floors, group, style: 'limit' });
    for (const peer of peers) {
      const others = report.peers.cells.flatMap((cell) =>
        cell.peer === peer && lineName(cell) === name && cell.ms !== undefined
          ? [{ x: sizeOf(cell), y: cell.ms.median }]
          : [],
      );
      series.push({ name: `${name}, ${peer}`, points: others, group, style: 'peer' });
    }
  }
  return logPlot(
    `${report.suite} on ${report.device.name}`,
    SIZE_TEXT[report.suite],
    'milliseconds (median)',
    series,
  );
}

/** What a cell is drawn at: its terms, of systems the points, of reductions those on the longer side. */
function sizeOf(cell: Cell): number {
  if (isSolver(cell)) return cell.n;
  return isReduction(cell) ? Math.max(cell.m, cell.n) * cell.batch : cellWork(cell);
}

const TERMS = 'terms (M x N x K x batch, for weightedDifferences also x O)';
const SIZE_TEXT: Readonly<Record<SuiteName, string>> = {
  cdist: TERMS,
  kermac: TERMS,
  linalg: 'order^3 x batch',
  keops: 'points (the longer of both sides)',
  solvers: 'points',
};

function groupByLine<C extends Cell>(cells: readonly C[]): Map<string, C[]> {
  const groups = new Map<string, C[]>();
  for (const cell of cells) {
    const name = lineName(cell);
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return groups;
}

function lineName(cell: Cell): string {
  if (isLinear(cell)) return `${cell.operation} ${cell.dtype}`;
  if (isReduction(cell)) {
    return `${cell.operation} D = ${cell.d}${cell.dtype === 'float32' ? '' : ` ${cell.dtype}`}`;
  }
  if (isSolver(cell)) {
    const { preconditioner, rank } = cell;
    const beside = preconditioner === undefined ? '' : `, ${preconditioner} ${rank}`;
    return `${cell.operation} D = ${cell.d} ${cell.dtype}${beside}`;
  }
  const { operation, p } = cell;
  return `${operation === 'cdist' ? '' : `${operation} `}p = ${formatP(p)}`;
}
