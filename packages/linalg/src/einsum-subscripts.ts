import { describeValue } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';

/** A letter, or an axis of `...` by its number from the end: `'.0'` is the last one. */
export type Label = string;

/** Subscripts with the extents that the operands give them. */
export interface Subscripts {
  /** The label of every axis of every operand. */
  readonly terms: readonly (readonly Label[])[];
  readonly output: readonly Label[];
  readonly extents: ReadonlyMap<Label, number>;
}

/** @throws MercerError INVALID_ARGUMENT for what is not understood, SHAPE_MISMATCH for operands that do not fit */
export function parseSubscripts(subscripts: unknown, operands: readonly Tensor[]): Subscripts {
  if (typeof subscripts !== 'string') {
    throw invalid(
      `the subscripts are ${describeValue(subscripts)}`,
      "Pass a text such as 'ij,jk->ik'",
    );
  }
  const text = subscripts.replaceAll(/\s/g, '');
  const [inputs = '', result, ...more] = text.split('->');
  const strange = /[^A-Za-z.,]/.exec(inputs + (result ?? ''))?.[0];
  if (strange !== undefined || more.length > 0) {
    const what =
      strange === undefined ? "there is more than one '->'" : `'${strange}' is no letter`;
    throw invalid(`${what} in ${describeValue(subscripts)}`, "Pass a text such as 'ij,jk->ik'");
  }
  const parts = inputs.split(',');
  if (parts.length !== operands.length) {
    throw invalid(
      `${describeValue(subscripts)} has letters for ${parts.length} operands and there are ${operands.length}`,
      'Separate the letters of each operand by a comma',
    );
  }
  const terms = operands.map((one, at) => labelsOf(parts[at] ?? '', one, at));
  const extents = extentsOf(terms, operands);
  return { terms, output: outputOf(result, terms, extents), extents };
}

function labelsOf(part: string, operand: Tensor, at: number): Label[] {
  const [before = '', after, ...more] = part.split('...');
  if (more.length > 0 || `${before}${after ?? ''}`.includes('.')) {
    throw invalid(
      `'${part}' has dots that are not one '...'`,
      'Write ... once for the axes without a letter',
    );
  }
  const letters = before.length + (after?.length ?? 0);
  const rest = operand.rank - letters;
  if (rest < 0 || (rest > 0 && after === undefined)) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `einsum: '${part}' has ${letters} letters and operand ${at + 1} is ${operand.label}, of rank ${operand.rank}. Give every axis a letter, or write ... for the others.`,
    );
  }
  const others = Array.from({ length: rest }, (_, axis) => `.${rest - 1 - axis}`);
  return [...lettersOf(before), ...others, ...lettersOf(after)];
}

const lettersOf = (text = ''): Label[] => Array.from(text);

function extentsOf(
  terms: readonly (readonly Label[])[],
  operands: readonly Tensor[],
): Map<Label, number> {
  const extents = new Map<Label, number>();
  for (const [at, term] of terms.entries()) {
    for (const [axis, label] of term.entries()) {
      const extent = operands[at]?.shape[axis] ?? 1;
      const known = extents.get(label);
      const broadcasts = label.startsWith('.') && (extent === 1 || known === 1);
      if (known === undefined || known === extent) extents.set(label, extent);
      else if (broadcasts) extents.set(label, known === 1 ? extent : known);
      else {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `einsum: ${label.startsWith('.') ? 'an axis of ...' : `the letter ${label}`} has extent ${known} and, in operand ${at + 1} of shape ${formatShape(operands[at]?.shape ?? [])}, ${extent}. Axes of one letter have one extent; those of ... may also be 1.`,
        );
      }
    }
  }
  return extents;
}

function outputOf(
  result: string | undefined,
  terms: readonly (readonly Label[])[],
  extents: ReadonlyMap<Label, number>,
): Label[] {
  const others = [...extents.keys()].filter((label) => label.startsWith('.'));
  others.sort((a, b) => Number(b.slice(1)) - Number(a.slice(1)));
  if (result === undefined) {
    const all = terms.flat().filter((label) => !label.startsWith('.'));
    const once = all.filter((label) => all.indexOf(label) === all.lastIndexOf(label));
    return [...others, ...once.sort()];
  }
  const [before = '', after, ...more] = result.split('...');
  const letters = [...lettersOf(before), ...lettersOf(after)];
  if (more.length > 0 || letters.includes('.')) {
    throw invalid(
      `'${result}' has dots that are not one '...'`,
      'Write ... once for the axes without a letter',
    );
  }
  if (after === undefined && others.length > 0) {
    throw invalid(
      `the result '${result}' has no ... and the operands have`,
      'Write ... in the result too',
    );
  }
  for (const letter of letters) {
    if (!extents.has(letter)) {
      throw invalid(
        `the letter ${letter} of the result is in no operand`,
        'Use letters of the operands',
      );
    }
    if (letters.indexOf(letter) !== letters.lastIndexOf(letter)) {
      throw invalid(
        `the letter ${letter} comes twice in the result '${result}'`,
        'Give each axis its own',
      );
    }
  }
  return [...lettersOf(before), ...others, ...lettersOf(after)];
}

const invalid = (what: string, remedy: string): MercerError =>
  new MercerError('INVALID_ARGUMENT', `einsum: ${what}. ${remedy}.`);

/** The two terms to be multiplied next: those whose product is smallest beside what it replaces. */
export function nextPair(
  terms: readonly (readonly Label[])[],
  output: readonly Label[],
  extents: ReadonlyMap<Label, number>,
): readonly [number, number] {
  const size = (labels: Iterable<Label>): number =>
    [...labels].reduce((product, label) => product * (extents.get(label) ?? 1), 1);
  let best: readonly [number, number] = [0, 1];
  let least = Infinity;
  for (const [a, first] of terms.entries()) {
    for (const [b, second] of terms.entries()) {
      if (b <= a) continue;
      const kept = new Set([
        ...output,
        ...terms.flatMap((one, at) => (at === a || at === b ? [] : one)),
      ]);
      const product = new Set([...first, ...second].filter((label) => kept.has(label)));
      const growth = size(product) - size(first) - size(second);
      if (growth < least) [least, best] = [growth, [a, b]];
    }
  }
  return best;
}
