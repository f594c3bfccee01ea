import type { Label, Subscripts } from './einsum-subscripts.js';

/** An `einsum` of the cotangent of a result, the other operands, and identities. */
export interface CotangentSum {
  readonly subscripts: string;
  /** The extents of the identities, one for each axis that repeats a letter: what is beside the diagonal is 0. */
  readonly identities: readonly number[];
  /** The sum with every axis of the operand: 1 along those of letters that nothing else has, and those that were broadcast. */
  readonly shape: readonly number[];
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The cotangent of an operand of this shape, whose place is `at`. */
export function cotangentSum(
  { terms, output, extents }: Subscripts,
  operand: readonly number[],
  at: number,
): CotangentSum {
  const letters = new Map<Label, string>();
  const letterOf = (label: Label): string => {
    const letter = letters.get(label) ?? LETTERS.charAt(letters.size);
    letters.set(label, letter);
    return letter;
  };
  const own = terms[at] ?? [];
  const given = [output, ...terms.filter((_, k) => k !== at)];
  const repeats = own.filter((label, axis) => own.indexOf(label) !== axis);
  const known = new Set([...given.flat(), ...repeats]);
  const names = given.map((labels) => labels.map(letterOf).join(''));
  let result = '';
  const shape: number[] = [];
  for (const [axis, label] of own.entries()) {
    const extent = operand[axis] ?? 1;
    const isRepeat = own.indexOf(label) !== axis;
    // a name that no label has
    const letter = known.has(label) ? letterOf(isRepeat ? `${label} ${axis}` : label) : '';
    if (isRepeat) names.push(letterOf(label) + letter);
    const isSummed = letter === '' || extent !== extents.get(label);
    if (!isSummed) result += letter;
    shape.push(isSummed ? 1 : extent);
  }
  const identities = repeats.map((label) => extents.get(label) ?? 1);
  return { subscripts: `${names.join()}->${result}`, identities, shape };
}

/** The shape of an operand with the extents of all along axes of `...`. */
export const fullShape = ({ terms, extents }: Subscripts, at: number): readonly number[] =>
  (terms[at] ?? []).map((label) => extents.get(label) ?? 1);
