import { usageError } from '../../cli-error.js';
import type { MeasuredReport, MeasuredRow } from './measured-rows.js';

/** What may be lost before a row is named: times of two runs on idle machines differ by less. */
export const MOST_LOST = 0.1;

/** A row of both runs against what stood beside it in each. */
export interface ComparedRow {
  readonly name: string;
  /** `floor`, or the name of a peer. */
  readonly against: string;
  /** The time of the floor or peer by the row's, before and after: larger is better. */
  readonly before: number;
  readonly after: number;
  readonly timeBefore: number;
  readonly timeAfter: number;
}

/** What two runs of a suite say of each other. */
export interface Comparison {
  readonly compared: number;
  /** Rows whose ratio fell by more than a tenth, those that lost most first. */
  readonly fell: readonly ComparedRow[];
  /** Rows of both runs that have no floor and no peer in common. */
  readonly without: readonly string[];
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

/**
 * Compares the rows that two runs have in common by their ratio to the floor of their own run, or where one has none to the quickest peer
 * that both have. Times of different machines are compared through these alone.
 *
 * @throws CliError USAGE where they have no row in common
 */
export function compareReports(before: MeasuredReport, after: MeasuredReport): Comparison {
  const earlier = new Map(before.rows.map((row) => [row.name, row]));
  const later = new Map(after.rows.map((row) => [row.name, row]));
  const both = [...later.values()].filter(({ name }) => earlier.has(name));
  if (both.length === 0) {
    throw usageError(
      `The runs have no row in common: one is of ${before.suite} (${before.rows[0]?.name ?? ''}, ...), the other of ${after.suite} (${after.rows[0]?.name ?? ''}, ...). Give two runs of the same benchmark.`,
    );
  }
  const rows: ComparedRow[] = [];
  const without: string[] = [];
  for (const row of both) {
    const compared = compareRow(earlier.get(row.name) as MeasuredRow, row);
    if (compared === undefined) without.push(row.name);
    else rows.push(compared);
  }
  return {
    compared: rows.length,
    fell: rows
      .filter((row) => row.after < (1 - MOST_LOST) * row.before)
      .sort((a, b) => a.after / a.before - b.after / b.before),
    without,
    onlyBefore: [...earlier.keys()].filter((name) => !later.has(name)),
    onlyAfter: [...later.keys()].filter((name) => !earlier.has(name)),
  };
}

function compareRow(before: MeasuredRow, after: MeasuredRow): ComparedRow | undefined {
  const beside = besideBoth(before, after);
  return (
    beside && {
      name: after.name,
      against: beside.against,
      before: beside.before / before.time,
      after: beside.after / after.time,
      timeBefore: before.time,
      timeAfter: after.time,
    }
  );
}

interface Beside {
  readonly against: string;
  readonly before: number;
  readonly after: number;
}

function besideBoth(before: MeasuredRow, after: MeasuredRow): Beside | undefined {
  if (before.floor !== undefined && after.floor !== undefined)
    return { against: 'floor', before: before.floor, after: after.floor };
  const common = [...before.peers].flatMap(([against, time]): Beside[] => {
    const now = after.peers.get(against);
    return now === undefined ? [] : [{ against, before: time, after: now }];
  });
  return common.sort((a, b) => a.after - b.after)[0];
}
