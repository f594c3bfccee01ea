const BACKWARD = {
  file: '../../pairwise/src/backward-operation.ts',
  test: '../pairwise/src/backward-calls.test.ts',
};
const TEXT = { file: '../../lazy/src/genred.ts', test: '../lazy/src/keops/keops-suites.test.ts' };
const JOINT = {
  test: '../lazy/src/joint-reduction.test.ts',
  pattern: 'adds sums up as asked for, beside what compares and counts',
};

/**
 * Faults that were mended, as they were: the test of each must fail again.
 *
 * @type {readonly Omit<import('../../../scripts/mutants/run.mjs').Mutant, 'promise'>[]}
 */
const undone = [
  {
    ...BACKWARD,
    name: "the memory of backward calls takes kernels for one whose parameters have each other's names",
    find: '[label, kind, name, isTensor(value)',
    replace: '[label, kind, isTensor(value)',
    pattern: 'tell custom kernels apart',
  },
  {
    ...BACKWARD,
    name: 'a backward call checks only those parameters that a gradient reads',
    find: '  checkValues(forward, shape);\n',
    replace: '',
    pattern: 'check the parameters that no wanted gradient reads',
  },
  {
    ...BACKWARD,
    name: 'a prepared backward call takes fewer inputs than its example',
    find: "  if (typeof prepared === 'object') checkInputs(what, prepared.one, b === undefined);\n",
    replace: '',
    pattern: 'that are prepared say what does not go with their examples',
  },
  {
    name: 'the gradient of an extremum over a side that no variable follows has no row number',
    file: '../../lazy/src/derivatives.ts',
    find: 'const inputs = [...task.inputs, ...onlyRow(what, task)];',
    replace: 'const inputs = [...task.inputs];',
    test: '../lazy/src/gradient.test.ts',
    pattern: 'over a side that no variable follows, which has one row',
  },
  {
    ...TEXT,
    name: 'inputs that simplification removes lose their positions',
    find: 'return new LazyReduction(what, reduction, placeholders(what, named, found));',
    replace: `const { formula: root, weight } = reduction;
  return new LazyReduction(what, reduction, placeholders(what, named, weight ? inputsOf(root, weight) : inputsOf(root)));`,
    and: {
      find: 'import {\n  isReductionText,',
      replace: 'import {\n  inputsOf,\n  isReductionText,',
    },
    pattern: 'keeps the positions of inputs that simplification or differentiation removes',
  },
  {
    ...TEXT,
    name: 'a text that is a whole reduction is read as a formula',
    find: 'const isWhole = isReductionText(formula);',
    replace: 'const isWhole = false;',
    pattern: 'may be whole reductions, as the engine of KeOps reads them',
  },
  {
    ...JOINT,
    name: 'accumulate is refused where a sum has an index beside it',
    file: '../../kernels/src/map-reduce/plan-sums.ts',
    find: '!addsUp(kind) && !(hasSum && addsNothing(kind))',
    replace: '!addsUp(kind)',
  },
  {
    ...JOINT,
    name: 'accumulate reaches the pass of an index',
    pattern:
      'gives one pass where the formulas share their work, or are short, and else one for each',
    file: '../../tensor/src/map-reduce/add-reductions.ts',
    find: '...aloneOf(call, reduction), ',
    replace: '',
  },
  {
    name: 'awaited calls leave no turns to the event loop',
    file: '../../tensor/src/event-loop-turn.ts',
    test: '../tensor/src/event-loop-turn.test.ts',
    pattern: 'leaves turns to the event loop',
    find: 'return ++calls > CALLS_A_TURN ? next : undefined;',
    replace: 'return undefined;',
  },
];

export const undoneMends = undone.map((one) => ({ promise: 'mended', ...one }));
