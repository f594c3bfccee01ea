import {
  ops,
  printFormula,
  substituteVector,
  type VariableNode,
  type VectorExpr,
} from '@mercer/formula';
import { describeInput, isSameInput, nodeAt, type Input } from './input.js';
import { translation } from './lazy-error.js';

/** A formula and what its inputs are: the input at place p of the list is the formula's input number p. */
export interface Symbolic {
  readonly formula: VectorExpr;
  readonly inputs: readonly Input[];
}

/** Formulas over one list of inputs. */
export interface Merged {
  readonly formulas: readonly VectorExpr[];
  readonly inputs: readonly Input[];
}

/** What is combined: a formula with its inputs, or a number, which becomes part of the formula. */
export type Part = Symbolic | number;

const NO_INPUTS: readonly Input[] = Object.freeze([]);

/** Several formulas over one list of inputs, each input once, in the order of appearance. */
export function merge(parts: readonly Part[]): Merged {
  // The list of the first one as long as nothing comes in addition: what is known of it need not be found again.
  let inputs: readonly Input[] | undefined;
  const formulas: VectorExpr[] = [];
  for (const part of parts) {
    if (typeof part === 'number') {
      formulas.push(ops.constant(part));
    } else if (inputs === undefined) {
      inputs = part.inputs;
      formulas.push(part.formula);
    } else {
      const places: number[] = [];
      for (const one of part.inputs) {
        const place = placeOf(one, inputs);
        if (place === inputs.length) inputs = Object.freeze([...inputs, one]);
        places.push(place);
      }
      formulas.push(movedTo(places, part));
    }
  }
  return { formulas, inputs: inputs ?? NO_INPUTS };
}

/** Where an input stands in a list; behind its end where it is none of these. */
function placeOf(one: Input, inputs: readonly Input[]): number {
  let place = 0;
  while (place < inputs.length && !isSameInput(inputs[place] as Input, one)) place++;
  return place;
}

/** A formula whose inputs stand at other places. */
function movedTo(places: readonly number[], { formula, inputs }: Symbolic): VectorExpr {
  if (places.every(isItsPlace)) return formula;
  const nodeTo = (one: Input, before: number): VariableNode => nodeAt(one, places[before] ?? 0);
  // the usual case
  if (formula.kind === 'variable') {
    return nodeTo(inputs[formula.position] as Input, formula.position);
  }
  const nodes = inputs.map((one, before) => [nodeAt(one, before), nodeTo(one, before)] as const);
  return substituteVector(formula, new Map(nodes));
}

const isItsPlace = (place: number, before: number): boolean => place === before;

/**
 * A formula made of several.
 *
 * @throws LazyError where the operation does not take such dims, naming the operands
 */
export function combine(
  what: string,
  parts: readonly Part[],
  build: (...args: readonly VectorExpr[]) => VectorExpr,
): Symbolic {
  const { formulas, inputs } = merge(parts);
  try {
    return { formula: build(...formulas), inputs };
  } catch (cause) {
    throw translation(what, cause, () => ` Given: ${parts.map(describePart).join('; ')}.`);
  }
}

function describePart(part: Part): string {
  if (typeof part === 'number') return String(part);
  const { formula, inputs } = part;
  const [only] = inputs;
  if (only !== undefined && inputs.length === 1 && formula.kind === 'variable') {
    return `${describeInput(only)} of dim ${formula.dim}`;
  }
  return `${printSymbolic(part)} of dim ${formula.dim}`;
}

/** Names for the inputs: their own, or a letter and the place. */
export function inputNames(inputs: readonly Input[]): ReadonlyMap<string, VariableNode> {
  const names = new Map<string, VariableNode>();
  for (const [place, one] of inputs.entries()) {
    const letter = { i: 'x', j: 'y', pair: 'm', parameter: 'p' }[one.category];
    const own = one.name !== undefined && !names.has(one.name) ? one.name : undefined;
    names.set(own ?? `${letter}${place}`, nodeAt(one, place));
  }
  return names;
}

/** The formula as text, with the names of its inputs. */
export function printSymbolic({ formula, inputs }: Symbolic): string {
  return printFormula(formula, { names: inputNames(inputs) });
}
