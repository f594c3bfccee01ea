const RULES = {
  file: '../../lazy/src/shards/merge-rules.ts',
  test: '../lazy/src/shards.test.ts',
};

/**
 * Faults of reductions whose rows are cut into blocks.
 *
 * @type {readonly Omit<import('../../../scripts/mutants/run.mjs').Mutant, 'promise'>[]}
 */
const faults = [
  {
    ...RULES,
    name: 'row numbers count from the first row of the block',
    find: 'numbers.add(start)',
    replace: 'numbers.add(0 * start)',
    pattern: 'has the bits of one block',
  },
  {
    ...RULES,
    name: 'a later row wins among equals',
    find: 'isLeast ? y.lt(x) : y.gt(x);',
    replace: 'isLeast ? y.le(x) : y.ge(x);',
    pattern: 'has the bits of one block',
  },
  {
    ...RULES,
    name: 'a NaN in a later block is passed over',
    find: 'isBeyond.logicalOr(isFirstNaN)',
    replace: 'isBeyond.logicalOr(isBeyond)',
    pattern: 'has the bits of one block',
  },
  {
    ...RULES,
    name: 'sums of exponentials are added up without their shift',
    find: 'step(otherOf(of).mul(step(where(isLargest, 1, factor))))',
    replace: 'step(otherOf(of).mul(1))',
    pattern: 'is what the loops give, in few bytes',
  },
  {
    ...RULES,
    name: 'equal exponents that are infinite are subtracted',
    find: 'step(where(isLargest, 1, factor))',
    replace: 'factor',
    pattern: 'carries infinite exponents from block to block',
  },
  {
    ...RULES,
    name: 'variances are merged as if all blocks had one mean',
    find: 'share * (1 - share)',
    replace: '0',
    pattern: 'Var over i is what the loops give',
  },
  {
    ...RULES,
    name: 'sums are carried in float32',
    find: "[await valueOf({ tensors }).cast('float64')]",
    replace: '[await valueOf({ tensors }).clone()]',
    pattern: 'adds blocks up in float64',
  },
  {
    file: '../../lazy/src/shards/cell-task.ts',
    test: '../lazy/src/shards.test.ts',
    name: 'row numbers in formulas count from the first row of the cell',
    find: 'cell?.[side][0] ?? 0',
    replace: '0 * (cell?.[side][0] ?? 0)',
    pattern: 'counts row numbers in formulas from the first row of all',
  },
  {
    file: '../../lazy/src/shards/run-shards.ts',
    test: '../lazy/src/shards.test.ts',
    name: 'results go to out block by block',
    find: 'empty(shape, { dtype, device: outs[at]?.device ?? this.#home }),',
    replace: 'outs[at]?.view() ?? empty(shape, { dtype, device: this.#home }),',
    pattern: 'keeps no memory, also where it ends early',
  },
  {
    file: '../../tensor/src/shards/run-steps.ts',
    test: '../lazy/src/shards.test.ts',
    name: 'the inputs of a call that ends early are kept',
    find: 'for (const step of taken) await release(step);',
    replace: '',
    pattern: 'keeps no memory, also where it ends early',
  },
  {
    file: '../../tensor/src/shards/plan-shards.ts',
    test: '../tensor/src/shards/plan-shards.test.ts',
    name: 'a last block may be shorter than K',
    find: 'const short = rest > size && rest - size < least;',
    replace: 'const short = false;',
    pattern: 'are all rows, once',
  },
  {
    file: '../../lazy/src/shards/cut-ranges.ts',
    test: '../lazy/src/shards/derivatives.test.ts',
    name: 'ranges of a cell are numbered from the first row of all',
    find: '[from - first, until - first]',
    replace: '[from - first, until - 0 * first]',
    pattern: 'ranges of Sum over j are those of the whole',
  },
  {
    ...RULES,
    test: '../lazy/src/shards/derivatives.test.ts',
    name: 'means of ranges are divided by all rows',
    find: 'valueOf(state).div(otherOf(state))',
    replace: 'valueOf(state).div(state.rows)',
    pattern: 'ranges of Mean over',
  },
  {
    file: '../../tensor/src/shards/plan-shards.ts',
    test: '../tensor/src/shards/plan-shards.test.ts',
    name: 'blocks have as many rows as fit',
    find: 'const MOST_ROWS = 2 ** 30;',
    replace: 'const MOST_ROWS = 2 ** 40;',
    pattern: 'have rows of the reduced side that 31 bits count',
  },
  {
    file: '../../pairwise/src/run-kernel.ts',
    test: '../pairwise/src/blocks/blocks.test.ts',
    name: 'the diagonal of a block begins at its own corner',
    find: '[m + i, n + j]',
    replace: '[m + 0 * i, n + 0 * j]',
    pattern: 'its scale and its diagonal',
  },
  {
    file: '../../pairwise/src/blocks/compute-blocks.ts',
    test: '../pairwise/src/blocks/blocks.test.ts',
    name: 'what a call that ends early has written is kept',
    find: 'await sink.abandon();',
    replace: '',
    pattern: 'leaves files as they were',
  },
  {
    file: '../../tensor/src/npy/npy-output.ts',
    test: '../tensor/src/npy/npy-output.test.ts',
    name: 'blocks are written one after the other',
    find: 'if (block[axis] !== whole[axis]) break;',
    replace: '',
    pattern: 'holds blocks of any axes in any order',
  },
];

export const shards = faults.map((one) => ({ promise: 'rows cut into blocks', ...one }));
