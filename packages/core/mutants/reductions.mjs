const OUT_DTYPE = { test: '../lazy/src/out-dtype.test.ts' };
const NONZERO = { file: '../../lazy/src/nonzero.ts', test: '../lazy/src/nonzero.test.ts' };
const COMPLEX = {
  file: '../../lazy/src/complex-lazy-tensor.ts',
  test: '../lazy/src/complex.test.ts',
};
const FAST = {
  file: '../../kernels/src/emit/fast-math.ts',
  test: '../kernels/src/emit/fast-math.emulator.test.ts',
};

/**
 * Options of reductions that are easily lost on the way, and complex matrices.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const reductions = [
  {
    ...OUT_DTYPE,
    name: 'calls with and without outDtype are taken for one',
    file: '../../lazy/src/reductions.ts',
    find: '[accumulate, sumScheme, fastMath, dtype, indexDtype, outDtype]',
    replace: '[accumulate, sumScheme, fastMath, dtype, indexDtype]',
    pattern: 'results in',
  },
  {
    name: 'derivatives see values in 16 bits',
    file: '../../lazy/src/traced-reductions.ts',
    find: '{ ...options, outDtype: undefined }, compute)',
    replace: 'undefined, (all) => compute(all, { ...options }))',
    test: 'src/lazy-derivatives.test.ts',
    pattern: 'results in 16 bits',
  },
  {
    name: 'the backward pass adds up as ever',
    file: '../../lazy/src/traced-reductions.ts',
    find: 'const run = { ranges, debug, accumulate, sumScheme, fastMath, ...shardsOf(options) };',
    replace:
      'const run = { ranges, debug, ...shardsOf(options) };\n    void [accumulate, sumScheme, fastMath];',
    test: 'src/lazy-derivatives.test.ts',
    pattern: 'adds up the gradients as the call adds up',
  },
  {
    name: 'what gradients need of the forward pass takes options that it has not',
    file: '../../lazy/src/results.ts',
    find: 'addsUp(kind) ? { accumulate, sumScheme, fastMath } : { fastMath }',
    replace: '{ accumulate, sumScheme, fastMath }',
    and: { find: "import { addsUp } from '@mercer/kernels';\n", replace: '' },
    test: '../lazy/src/gradient.test.ts',
    pattern: 'is added up as',
  },
  {
    ...NONZERO,
    file: '../../lazy/src/selected-pairs.ts',
    name: 'the room for pairs is not compared with their number',
    find: 'if (roomOf(out) < pairs) {',
    replace: 'if (pairs < 0) {',
    pattern: 'writes nothing where there is too little room',
  },
  {
    ...NONZERO,
    name: 'offsets do not begin at 0',
    find: 'steps.fill({ ...counts, shape: [1] }, 0n);',
    replace: 'steps.fill({ ...counts, shape: [1] }, 0x3f800000n);',
    pattern: 'finds neighbours over',
  },
  {
    ...COMPLEX,
    name: 'part k of a complex vector begins at component k',
    find: 'ops.extract(f, 2 * start, 2 * length)',
    replace: 'ops.extract(f, start, 2 * length)',
    pattern: 'have numbers that are taken and put together',
  },
  {
    ...FAST,
    name: 'a turn of quick sines is a little short',
    find: 'fmaf(n, -6.28318548f, x)',
    replace: 'fmaf(n, -6.28317f, x)',
    pattern: 'keep their bounds',
  },
].map((mutant) => ({ promise: 'reductions', ...mutant }));
