const BACKWARD = {
  file: '../../pairwise/src/pairwise-backward.ts',
  test: '../pairwise/src/run-kernel-backward.test.ts',
  pattern: 'takes one value of shape',
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
    name: 'a parameter of shape [1] keeps its axis where data have no batch',
    find: 'const total = await finish(totals, parameterBatch(target), call, () =>',
    replace: 'const total = await finish(totals, target, call, () =>',
  },
  {
    ...BACKWARD,
    name: 'so do the partial gradients of several parameters',
    find: '[...parameterBatch(own), 1],',
    replace: '[...own, 1],',
  },
  {
    ...BACKWARD,
    name: 'so does a scale of one row',
    file: '../../pairwise/src/rows-backward.ts',
    find: 'const batch = parameterBatch(lead);',
    replace: 'const batch = lead;',
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
    pattern: 'gives one pass where the formulas can be written out, and else one for each',
    file: '../../tensor/src/map-reduce/add-reductions.ts',
    find: '...aloneOf(call, reduction), ',
    replace: '',
  },
];

export const undoneMends = undone.map((one) => ({ promise: 'mended', ...one }));
