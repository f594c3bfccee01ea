import {
  ops,
  printFormula,
  substituteVector,
  type VariableNode,
  type VectorExpr,
} from '@mercer/formula';
import { describeInput, isSameInput, nodeAt, type Input } from './input.js';
import { translated } from './lazy-error.js';

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
  const [first] = parts;
  // The list itself as long as nothing comes in addition: what is known of it need not be found again.
  let inputs = typeof first === 'object' ? first.inputs : NO_INPUTS;
  const placeFor = (one: Input): number => {
    for (let place = 0; place < inputs.length; place++) {
      if (isSameInput(inputs[place] as Input, one)) return place;
    }
    inputs = Object.freeze([...inputs, one]);
    return inputs.length - 1;
  };
  const formulas = parts.map((part, at) => {
    if (typeof part === 'number') return ops.constant(part);
    const { formula, inputs: own } = part;
    if (at === 0) return formula;
    const places = own.map(placeFor);
    if (places.every((place, before) => place === before)) return formula;
    const [only] = own;
    // a variable, the usual case
    if (only !== undefined && formula === nodeAt(only, 0)) return nodeAt(only, places[0] ?? 0);
    const nodes = own.map(
      (one, before) => [nodeAt(one, before), nodeAt(one, places[before] ?? 0)] as const,
    );
    return substituteVector(formula, new Map(nodes));
  });
  return { formulas, inputs };
}

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
  const given = (): string => ` Given: ${parts.map(describePart).join('; ')}.`;
  return { formula: translated(what, () => build(...formulas), given), inputs };
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
