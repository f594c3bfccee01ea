import { InvalidArgumentError } from 'commander';
import { formula, genred, type Genred, type GenredOptions, type ReductionName } from '@mercer/core';
import { usageError } from '../cli-error.js';
import { namingOption } from '../options/named-option.js';

/** The texts that say what is reduced and how, by the names of their options. */
export interface ReductionTexts {
  readonly formula: string;
  readonly alias?: readonly string[];
  readonly reduction?: string;
  readonly axis?: 0 | 1;
  readonly k?: number;
  readonly formula2?: string;
}

/** The side that is reduced: 1 or j, 0 or i. */
export function parseAxis(text: string): 0 | 1 {
  if (text === '1' || text === 'j') return 1;
  if (text === '0' || text === 'i') return 0;
  throw new InvalidArgumentError(`the axis is 1 or j, 0 or i, and not '${text}'`);
}

/** A reduction whose arguments are known only when it runs. */
export type TextReduction = Genred<readonly string[], formula.ReductionKind>;

/**
 * Reads a reduction. The formula may be a whole one, `Sum_Reduction(F, 0)` as KeOps writes it, which then says all.
 *
 * @throws CliError naming the option whose text is wrong
 */
export function describeReduction(texts: ReductionTexts): TextReduction {
  const { alias = [] } = texts;
  for (const text of alias) {
    namingOption(`--alias '${text}'`, () => formula.parseAliases([text]));
  }
  namingOption(`--alias '${alias.join("' --alias '")}'`, () => formula.parseAliases(alias));
  if (formula.isReductionText(texts.formula)) return wholeReduction(texts, alias);
  namingOption(`--formula '${texts.formula}'`, () => formula.parseFormula(texts.formula, alias));
  const { formula2, reduction = 'Sum', axis, k } = texts;
  if (formula2 !== undefined) {
    namingOption(`--formula2 '${formula2}'`, () => formula.parseFormula(formula2, alias));
  }
  checkComplete(reduction, texts);
  return namingOption(`--reduction ${reduction}`, () =>
    genred(texts.formula, alias, {
      reduction: reduction as ReductionName,
      axis,
      formula2,
      k,
    } satisfies GenredOptions),
  );
}

/** What a reduction needs beside the formula, in the words of the command line. */
function checkComplete(reduction: string, { k, formula2 }: ReductionTexts): void {
  const kind = formula.kindOf(reduction);
  const traits = kind && formula.traitsOf(kind);
  if (traits?.takesK === true && k === undefined) {
    throw usageError(
      `--reduction ${reduction} needs to know how many are wanted. Add --k 5, for example.`,
    );
  }
  if (traits?.weight === 'required' && formula2 === undefined) {
    throw usageError(
      `--reduction ${reduction} weights a second formula. Add it as --formula2, for example --formula2 b.`,
    );
  }
}

function wholeReduction(texts: ReductionTexts, alias: readonly string[]): TextReduction {
  for (const option of ['reduction', 'axis', 'k', 'formula2'] as const) {
    if (texts[option] === undefined) continue;
    throw usageError(
      `--${option} ${texts[option]} stands beside a whole reduction, '${texts.formula}', which says it itself. Leave one of them out.`,
    );
  }
  return namingOption(`--formula '${texts.formula}'`, () => genred(texts.formula, alias));
}
