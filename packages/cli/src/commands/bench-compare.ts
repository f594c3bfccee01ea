import { readFile } from 'node:fs/promises';
import { printable } from '@mercer/core/npy';
import { Command } from 'commander';
import { compareReports, type Comparison } from '../bench/compare/compare-reports.js';
import { measuredRows, type MeasuredReport } from '../bench/compare/measured-rows.js';
import { CliError } from '../cli-error.js';
import type { Output } from '../output/output.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

/** `mercer bench compare BEFORE AFTER`: which rows lost ground to their floors. */
export function benchCompareCommand(): Command {
  return withCommonOptions(
    new Command('compare')
      .description(
        'names every row whose ratio to the floor of its own run, or to a peer, fell by more than a tenth; the exit status is 1 then',
      )
      .argument('<before>', 'what --out of an earlier run wrote')
      .argument('<after>', 'the same of a later run'),
  ).action(action(compare));
}

async function compare(
  output: Output,
  _: CommonOptions,
  [before = '', after = '']: readonly string[],
): Promise<void> {
  const comparison = compareReports(await readReport(before), await readReport(after));
  output.result({ before, after, ...comparison }, () => rendered(output, comparison));
  if (comparison.fell.length > 0) process.exitCode = 1;
}

async function readReport(file: string): Promise<MeasuredReport> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError(
      'FILE_UNREADABLE',
      `Cannot read ${file}: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { cause },
    );
  }
  return measuredRows(file, text);
}

function rendered(output: Output, comparison: Comparison): string {
  const { compared, fell, without, onlyBefore, onlyAfter } = comparison;
  const more = [
    counted(without, 'with neither a floor nor a peer in both runs'),
    counted(onlyBefore, 'only in the first'),
    counted(onlyAfter, 'only in the second'),
  ].filter((text) => text !== '');
  const rest = more.length === 0 ? '' : ` Not compared: ${more.join('; ')}.`;
  if (fell.length === 0) return `No row of ${compared} lost more than a tenth.${rest}`;
  const table = output.table(
    [
      { head: 'row' },
      { head: 'against' },
      { head: 'before', align: 'right' },
      { head: 'after', align: 'right' },
      { head: 'kept', align: 'right' },
    ],
    fell.map(({ name, against, before, after }) => [
      printable(name),
      printable(against),
      before.toPrecision(3),
      after.toPrecision(3),
      `${Math.round((100 * after) / before)}%`,
    ]),
  );
  return `${table}\n${fell.length} of ${compared} rows lost more than a tenth of their ratio to the floor or peer of their run.${rest}`;
}

/** How many, and the first of them. */
function counted(names: readonly string[], what: string): string {
  const [first] = names;
  if (first === undefined) return '';
  return `${names.length} ${what} (${printable(first)}${names.length > 1 ? ', ...' : ''})`;
}
