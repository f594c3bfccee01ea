import { evaluate, print, variables } from '@mercer/formula';
import { PlanError } from '../plan-error.js';
import type { PairwiseProblem } from './problem.js';

/** Values that stand for parameters where an expression is tried. */
const SAMPLES = [0.5, 1.5, 2, 3.25] as const;
const PAIRS = [
  [0.3, 1.7],
  [-1.2, 0.45],
  [2.5, 0],
] as const;
/** Relative difference that rounding may leave between inner(a, b) and inner(b, a). */
const ROUNDING = 1e-10;
const OWN_VARIABLES: readonly string[] = ['a', 'b', 's'];

/** Throws a `PlanError` for a problem that no plan can compute. */
export function checkProblem(problem: PairwiseProblem): void {
  checkParameters(problem);
  checkVariables(problem);
  checkPadding(problem);
  if (problem.symmetric === true) checkSymmetry(problem);
}

function checkParameters({ parameters = [] }: PairwiseProblem): void {
  parameters.forEach((name, i) => {
    const reason = !/^[A-Za-z_]\w*$/.test(name)
      ? 'is no identifier'
      : OWN_VARIABLES.includes(name)
        ? 'is a variable of every pairwise problem'
        : parameters.indexOf(name) !== i
          ? 'is listed twice'
          : undefined;
    if (reason !== undefined) {
      throw new PlanError(
        'INVALID_ARGUMENT',
        `cannot plan: parameter '${name}' ${reason}. ` +
          `Name each parameter once, by letters, digits and underscores, but not ${OWN_VARIABLES.join(', ')}.`,
      );
    }
  });
}

function checkVariables({ inner, outer, parameters = [] }: PairwiseProblem): void {
  const strangers = [
    ...variables(inner).filter((name) => !['a', 'b', 'p', ...parameters].includes(name)),
    ...variables(outer).filter((name) => !['s', 'p', ...parameters].includes(name)),
  ];
  if (strangers.length > 0) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot plan: ${strangers.join(', ')} is no variable of a pairwise problem. ` +
        `Use a, b and p in the inner expression, s and p in the outer one, ` +
        `and list others as parameters.`,
    );
  }
}

/** Parameters of one trial, all equal or all different. */
function trials({ parameters = [], p = 1.5 }: PairwiseProblem): Record<string, number>[] {
  if (parameters.length === 0) return [{ p }];
  return SAMPLES.map((_, trial) => ({
    p,
    ...Object.fromEntries(
      parameters.map((name, i) => [name, SAMPLES[(trial + i) % SAMPLES.length] ?? 1]),
    ),
  }));
}

function checkPadding(problem: PairwiseProblem): void {
  for (const values of trials(problem)) {
    const atZero = evaluate(problem.inner, { a: 0, b: 0, ...values });
    if (atZero === 0) continue;
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot plan: ${print(problem.inner)} is ${atZero} at a = b = 0, and k is padded with zeros. ` +
        `Use an inner expression that is 0 there.`,
    );
  }
}

function checkSymmetry(problem: PairwiseProblem): void {
  const { m, n, layoutA, layoutB, alignedA, alignedB, inner } = problem;
  if (m !== n || layoutA !== layoutB || alignedA !== alignedB) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot plan a symmetric problem of ${m} and ${n} points, layouts ${layoutA} and ${layoutB}: ` +
        `b must be a. Pass the same operand twice, or leave 'symmetric' out.`,
    );
  }
  for (const values of trials(problem)) {
    for (const [x, y] of PAIRS) {
      const [here, there] = [
        evaluate(inner, { a: x, b: y, ...values }),
        evaluate(inner, { a: y, b: x, ...values }),
      ];
      if (Object.is(here, there) || Math.abs(here - there) <= ROUNDING * Math.abs(here)) continue;
      throw new PlanError(
        'INVALID_ARGUMENT',
        `cannot plan as symmetric: ${print(inner)} is ${here} for a = ${x}, b = ${y} ` +
          `and ${there} the other way round. Leave 'symmetric' out.`,
      );
    }
  }
}
