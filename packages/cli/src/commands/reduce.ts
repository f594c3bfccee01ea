import { formula, planOf } from '@mercer/core';
import { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { computeToFiles, renderFiles, type FileOptions } from '../files/compute-to-file.js';
import { namingOptionLater } from '../options/named-option.js';
import { collectText, parseAssignment, type Assignment } from '../options/parse-assignment.js';
import { parseCount } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import {
  describeReduction,
  parseAxis,
  type ReductionTexts,
  type TextReduction,
} from '../reduce/describe-reduction.js';
import { isRows, matchArguments } from '../reduce/match-arguments.js';
import { placeArguments } from '../reduce/place-arguments.js';
import { OUT_FILE, withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

interface ReduceOptions extends CommonOptions, FileOptions, ReductionTexts {
  readonly arg?: readonly Assignment[];
  readonly outIndices?: string;
}

/** `mercer reduce --formula F --alias 'x=Vi(3)' --arg x=x.npy --out a.npy`: a symbolic matrix, reduced without being stored. */
export function reduceCommand(): Command {
  return withFileOptions(
    new Command('reduce')
      .requiredOption('--formula <text>', 'in the language of KeOps, such as Exp(-SqDist(x,y))*b')
      .option(
        '--alias <text>',
        "an input: 'x=Vi(3)' has rows i of 3 numbers, Vj rows j, Pm is one vector; repeat it",
        collectText,
      )
      .option(
        '--arg <name=value>',
        'data of an input: a file such as x.npy, file.npz:name or file.csv:columns; numbers for a Pm; repeat it',
        parseAssignment,
      )
      .option('--reduction <name>', 'Sum (the default), LogSumExp, Min, ArgKMin, Min_ArgMin, ...')
      .option(
        '--axis <axis>',
        'what is reduced: 1 or j; 0 or i, the default as in KeOps',
        parseAxis,
      )
      .option('--k <count>', 'how many extrema, of KMin and its kin', parseCount)
      .option('--formula2 <text>', 'what LogSumExp and SumSoftMaxWeight weight')
      .option('--out-indices <file>', 'where the row numbers go, of reductions with both'),
    `where the values go, or the row numbers of ArgMin and its kin: ${OUT_FILE}`,
  )
    .addHelpText(
      'after',
      "\nGradients are written with Grad in the formula. 'Sum_Reduction(F, 0)' as a formula says the reduction too: tag 0 reduces over j.",
    )
    .action(action(run));
}

async function run(output: Output, options: ReduceOptions): Promise<void> {
  const reduce = describeReduction(options);
  const given = matchArguments(reduce, options.arg ?? []);
  const outs = outputFiles(reduce, options);
  const files = given.filter(isRows).map(({ file }) => file);
  let plan: unknown;
  const summary = await computeToFiles(output, files, outs, options, async (rows, device) => {
    const tensors = await placeArguments(given, rows, { device, dtype: options.dtype });
    return namingOptionLater(`--formula '${options.formula}'`, async () => {
      const result = await reduce.reduction.call(tensors);
      if (!('values' in result)) {
        plan = planOf(result);
        return [result];
      }
      plan = planOf(result.values);
      return [result.values, result.indices];
    });
  });
  const { kind, axis, k } = reduce.reduction.reduction;
  const name = `${kind}${k === undefined ? '' : ` ${k}`} over ${axis === 1 ? 'j' : 'i'}`;
  output.result({ ...summary, reduction: kind, axis, k, plan }, () =>
    renderFiles(
      summary,
      outs.length === 1 ? [name] : [`values of ${name}`, `row numbers of ${name}`],
    ),
  );
}

/** Where each result goes. */
function outputFiles({ reduction }: TextReduction, { out, outIndices }: ReduceOptions): string[] {
  const { kind } = reduction.reduction;
  const names = formula.outputsOf(reduction.reduction).map(({ name }) => name);
  if (names.length === 1) {
    if (outIndices === undefined) return [out];
    throw usageError(
      `--out-indices ${outIndices}: ${kind} gives ${names[0] === 'index' ? 'only row numbers, which go to --out' : 'only values'}. Leave it out.`,
    );
  }
  if (outIndices !== undefined && outIndices !== out) return [out, outIndices];
  throw usageError(
    `${kind} gives values, which go to --out ${out}, and row numbers. Add --out-indices with another file, for example --out-indices rows.npy.`,
  );
}
