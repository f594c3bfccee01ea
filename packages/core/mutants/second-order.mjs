/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const FOLDER = '../../optim/src/second-order';
const BAD = { test: '../optim/src/second-order/bad-input.test.ts' };
const STEPS = { promise: 'steps are those of the published formulas' };

const GROUPS = { test: '../optim/src/second-order/in-groups.test.ts' };
const STATES = { test: '../optim/src/training/training.test.ts' };

/** @type {readonly Mutant[]} */
export const secondOrder = [
  {
    ...GROUPS,
    promise: 'groups are as their optimisers are alone',
    name: 'what is under way for a group is kept with that of others',
    file: '../../optim/src/training/groups.ts',
    find: 'return [[group, rule, { ...step, leaves, state, extras }] as const];',
    replace: 'return [[group, rule, { ...step, leaves, state: step.state, extras }] as const];',
    pattern: 'each with its own delay',
  },
  {
    ...GROUPS,
    promise: 'SOAP has exact bases of the first step that is taken',
    name: 'only the first call has exact bases',
    file: `${FOLDER}/soap.ts`,
    find: 'new Beginning(step === 1 || !(await hasBecome(state, isBehind)))',
    replace: 'new Beginning(step === 1 && !(await hasBecome(state, isBehind)))',
    pattern: 'have exact bases',
  },
  {
    ...GROUPS,
    promise: 'K-FAC corrects for the factors that were added',
    name: 'factors that were left out are counted',
    file: `${FOLDER}/kfac-inverses.ts`,
    find: "const ADDED = select(isTaken, select(isFinite, add(v('x'), 1), v('x')), v('x'));",
    replace: "const ADDED = select(isTaken, add(v('x'), 1), v('x'));",
    pattern: 'count the factors',
  },
  {
    ...STATES,
    promise: 'steps of one state are taken one after another',
    name: 'steps begin at once',
    file: '../../optim/src/turns.ts',
    find: 'before.then(begin)',
    replace: 'begin()',
    pattern: 'one after another',
  },
  {
    ...STATES,
    promise: 'a loaded state goes on bit for bit',
    name: 'a damaged file is read',
    file: '../../optim/src/training/checkpoint.ts',
    find: 'if (told === found) return',
    replace: 'if (told !== undefined) return',
    pattern: 'cut anywhere, or damaged',
  },
  {
    ...STATES,
    promise: 'steps are counted once',
    name: 'a step that is captured counts',
    file: '../../optim/src/steps-taken.ts',
    find: 'if (isOnlyCaptured()) replayed.add(state);',
    replace: 'if (isOnlyCaptured() && state.step < 0) replayed.add(state);',
    pattern: 'counts steps once',
  },
  {
    ...STATES,
    promise: 'a loaded state goes on bit for bit',
    name: 'what is under way outlives what is loaded',
    file: '../../optim/src/training/checkpoint.ts',
    find: 'await forget(state);',
    replace: '',
    pattern: 'a checkpoint is loaded while',
  },
  {
    ...BAD,
    promise: 'what has no root keeps the old one',
    name: 'a root that failed is taken',
    file: `${FOLDER}/factors.ts`,
    find: "const isNew = eq(v('info'), 0);",
    replace: "const isNew = gt(v('info'), -9);",
    pattern: 'keeps the old matrix',
  },
  {
    ...BAD,
    promise: 'a refresh takes effect after its delay, also of a state that was copied',
    name: 'what is due is not computed where it is not under way',
    file: `${FOLDER}/shampoo.ts`,
    find: "joined(scope, modes, 'pending', leaves, stream)",
    replace: "joined(scope, modes, 'factor', leaves, stream)",
    pattern: 'repeats bit for bit',
  },
  {
    ...BAD,
    promise: 'a state that is disposed gives back what is under way',
    name: 'what has not taken effect is kept',
    file: `${FOLDER}/refreshes.ts`,
    find: '({ scope }) => scope.dispose(),',
    replace: '() => undefined,',
    pattern: 'gives back all memory',
  },
  {
    ...STEPS,
    name: 'squares stay where they were when the columns of a basis are ordered',
    file: `${FOLDER}/soap.ts`,
    find: 'if (order === undefined) return squares;',
    replace: 'if (order !== squares) return squares;',
    test: '../optim/src/second-order/soap.test.ts',
    pattern: 'turns squares with bases',
  },
  {
    ...STEPS,
    name: 'a gradient of a mean counts as an example’s own',
    file: `${FOLDER}/kfac-layers.ts`,
    find: 'alpha: count / places',
    replace: 'alpha: 1 / places',
    test: '../optim/src/second-order/kfac.test.ts',
    pattern: 'takes the steps',
  },
  {
    promise: 'roots by products are the same whatever takes their results',
    name: 'a step that is enqueued again lacks its first launch',
    file: '../../linalg/src/coupled-root.ts',
    find: 'planned.set(key, { launched, to });',
    replace: 'planned.set(key, { launched: launched.slice(1), to });',
    test: '../linalg/src/powers.test.ts',
    pattern: 'ends each matrix of a batch where it has converged',
  },
];
