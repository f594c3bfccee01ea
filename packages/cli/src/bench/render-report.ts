import { formatMs, formatP, formatRate, formatShare, significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import type { BenchReport, CellResult } from './bench-report.js';
import { cellName, type Cell } from './cells.js';
import type { DeviceLimitsReport } from './limits.js';
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
  return `${output.heading(`Limits of ${report.device} (${report.deviceName})`)}\n${table}`;
}

/** The whole report as text. */
export function renderReport(report: BenchReport, output: Output): string {
  const { callOverhead, compile } = report;
  return [
    renderLimits(report.limits, output),
    `${output.heading('Calls')}\nprepared ${significant(callOverhead.preparedUs)} us into an output and ${significant(callOverhead.preparedNewUs)} us with a new one, awaited ${significant(callOverhead.awaitedUs)} us a call; first kernel of a process ${formatMs(compile.coldMs)} cold, ${formatMs(compile.warmMs)} from the store`,
    `${output.heading(`cdist on ${report.device.id} (${report.device.name})`)}\n${cells(report, output)}`,
    slowCells(report, output),
    skipped(report, output),
    peersLine(report),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function cells(report: BenchReport, output: Output): string {
  const peerNames = [...new Set(report.peers.cells.map((cell) => cell.peer))];
  return output.table(
    [
      { head: 'cell' },
      { head: 'median', align: 'right' },
      { head: 'p10 .. p90', align: 'right' },
      { head: 'floor', align: 'right' },
      { head: 'share', align: 'right' },
      { head: 'error (u)', align: 'right' },
      ...peerNames.map((head) => ({ head, align: 'right' as const })),
    ],
    report.cells.map((cell) => [
      cellName(cell),
      formatMs(cell.ms.median),
      `${formatMs(cell.ms.p10)} .. ${formatMs(cell.ms.p90)}`,
      cell.floor === undefined ? '-' : `${formatMs(cell.floor.ms)} ${cell.floor.kind}`,
      formatShare(cell.shareOfFloor),
      worstError(cell),
      ...peerNames.map((peer) => peerTime(report, cell, peer)),
    ]),
  );
}

/** The largest error over all kinds of data, and on which. */
function worstError(cell: CellResult): string {
  const [worst] = Object.entries(cell.errors).sort(([, a], [, b]) => b.max - a.max);
  return worst === undefined ? '-' : `${significant(worst[1].max)} ${worst[0]}`;
}

function peerTime(report: BenchReport, cell: Cell, peer: string): string {
  const found = report.peers.cells.find((other) => other.peer === peer && sameCell(other, cell));
  return found?.ms === undefined ? (found?.error ?? '-').slice(0, 24) : formatMs(found.ms.median);
}

function sameCell(a: Cell, b: Cell): boolean {
  return cellName(a) === cellName(b);
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

function peersLine(report: BenchReport): string {
  const { found, reason, versions } = report.peers;
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const missing = reason === undefined ? '' : ` (${reason.split('\n')[0] ?? ''})`;
  return found ? `Peers: ${names.join(', ')}${missing}` : `No peers${missing}`;
}

/** Time against the work of a cell, for each norm and each peer, with the floors dashed. */
export function plotReport(report: BenchReport): string {
  const work = (cell: Cell): number => cell.m * cell.n * cell.k * cell.batch;
  const series: Series[] = [];
  const norms = [...new Set(report.cells.map((cell) => cell.p))];
  for (const [group, p] of norms.entries()) {
    const own = report.cells.filter((cell) => cell.p === p);
    const name = `p = ${formatP(p)}`;
    const points = own.map((cell) => ({ x: work(cell), y: cell.ms.median }));
    series.push({ name, points, group, style: 'own' });
    const floors = own.flatMap((cell) =>
      cell.floor === undefined ? [] : [{ x: work(cell), y: cell.floor.ms }],
    );
    series.push({ name: `${name}, floor`, points: floors, group, style: 'limit' });
    for (const peer of new Set(report.peers.cells.map((cell) => cell.peer))) {
      const others = report.peers.cells
        .filter((cell) => cell.peer === peer && cell.p === p && cell.ms !== undefined)
        .map((cell) => ({ x: work(cell), y: cell.ms?.median ?? 0 }));
      series.push({ name: `${name}, ${peer}`, points: others, group, style: 'peer' });
    }
  }
  return logPlot(
    `cdist on ${report.device.name}`,
    'element pairs (M x N x K x batch)',
    'milliseconds (median)',
    series,
  );
}
