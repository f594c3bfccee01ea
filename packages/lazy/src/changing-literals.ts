import {
  liftLiteralsSteps,
  type LiftedLiterals,
  type Reduction,
  type Steps,
  type VectorExpr,
} from '@mercer/formula/plan';
import { inSlices, RecentMap } from '@mercer/tensor/operation';
import type { Input } from './input.js';
import { parameterInput } from './make-input.js';
import type { JointTask } from './task.js';

/** Formulas that differ in their numbers alone, and have kernels of their own, before their numbers become parameters. */
const OWN_KERNELS = 4;
/** Formulas without their numbers that are remembered. */
const REMEMBERED = 1024;

/** By formula, and by the place of the parameter. */
const lifted = new WeakMap<VectorExpr, Map<number, LiftedLiterals | undefined>>();
/** The numbers that a formula without numbers was met with, as text. */
const met = new RecentMap<VectorExpr, Set<string>>(() => REMEMBERED);

/**
 * The task with numbers in its formulas that change from call to call as parameters of its kernels: `x.div(-h)` compiles anew for the
 * first four values of `h` and shares one kernel from the fifth on. Only numbers that are added, subtracted, multiplied or
 * divided by.
 */
export async function withChangingLiterals(
  task: JointTask,
  signal: AbortSignal | undefined,
): Promise<JointTask> {
  const inputs: Input[] = [...task.inputs];
  const replace = async (formula: VectorExpr): Promise<VectorExpr> => {
    const found = await inSlices(liftSteps(formula, inputs.length), signal);
    if (found === undefined || !isChanging(found)) return formula;
    inputs.push(parameterInput(task.what, found.literals, undefined));
    return found.formula;
  };
  const replaced = async (one: Reduction): Promise<Reduction> => {
    const formula = await replace(one.formula);
    const weight = one.weight && (await replace(one.weight));
    const same = formula === one.formula && weight === one.weight;
    return same ? one : Object.freeze({ ...one, formula, weight });
  };
  const [first, ...others] = task.reductions;
  const reductions: [Reduction, ...Reduction[]] = [await replaced(first)];
  for (const one of others) reductions.push(await replaced(one));
  return inputs.length === task.inputs.length ? task : { ...task, reductions, inputs };
}

/** Whether the formula was met with other numbers so often that these share a kernel. */
function isChanging({ formula, literals }: LiftedLiterals): boolean {
  const seen = met.get(formula) ?? new Set<string>();
  if (seen.size <= OWN_KERNELS) seen.add(literals.join(' '));
  met.set(formula, seen);
  return seen.size > OWN_KERNELS;
}

/** What is found is kept with the formula. */
function* liftSteps(formula: VectorExpr, place: number): Steps<LiftedLiterals | undefined> {
  const known = lifted.get(formula) ?? new Map<number, LiftedLiterals | undefined>();
  lifted.set(formula, known);
  if (!known.has(place)) known.set(place, yield* liftLiteralsSteps(formula, place));
  return known.get(place);
}
