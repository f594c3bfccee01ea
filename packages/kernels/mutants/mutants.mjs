const onCpu = {
  promise: 'merge',
  file: 'map-reduce/cpu/merge-kernel.ts',
  each: /** @type {const} */ (true),
  test: 'src/map-reduce/cpu-map-reduce.test.ts',
  pattern: 'parts that a second step merges',
};
// a call is cut into parts for cores that are idle: on a machine of one there is nothing to leave out
const throughLazy = {
  ...onCpu,
  test: '../lazy/src/reductions.test.ts',
  pattern: 'of many rows for each',
};
const onGpu = {
  ...onCpu,
  file: 'map-reduce/cuda/merge-kernel.ts',
  test: 'src/map-reduce/map-reduce.emulator.test.ts',
  pattern: 'slices and parts that are merged',
};
const inMemory = {
  promise: 'merge',
  file: 'map-reduce/bins/cpu-bins.ts',
  test: 'src/map-reduce/bins/cpu-bins.test.ts',
  pattern: 'weights|counts',
};
const cpuLoop = 'for (int64_t part = 0; part < ${plan.splits}; part++) {';
const gpuLoop = 'for (int part = 0; part < ${plan.splits}; ++part) {';
const products = {
  promise: 'products',
  file: 'products/emit-centred-parts.ts',
  test: 'src/products/products.emulator.test.ts',
  pattern: 'hold the published bound|lo hi hi',
};

/**
 * Merges that leave out one part of the reduced rows: the test of every reduction must notice. Squared distances through products that
 * lose what their accuracy comes from.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const mutants = [
  {
    ...inMemory,
    name: 'components in memory begin with what lies there',
    find: '__builtin_memset(${own}, 0, ${count} * sizeof(Kept));',
    replace: '',
  },
  {
    ...inMemory,
    name: 'the last part of components in memory is left out',
    find: 'part < ${plan.splits}; part++',
    replace: 'part < ${plan.splits} - 1; part++',
    pattern: 'parts are merged',
  },
  {
    ...inMemory,
    name: 'the first component in memory gets nothing',
    find: 'place[lane] >= 0 && place[lane] < ${count}',
    replace: 'place[lane] >= 1 && place[lane] < ${count}',
  },
  {
    ...inMemory,
    name: 'a sum is taken for a histogram whatever its other components are',
    file: 'map-reduce/bins/binned-sum.ts',
    find: '|| !isNothing',
    replace: '',
    pattern: 'in registers or loops',
  },
  {
    ...onCpu,
    name: 'the first part is left out',
    find: cpuLoop,
    replace: cpuLoop.replace('part = 0', 'part = 1'),
  },
  {
    ...onCpu,
    name: 'a part in the middle is left out',
    find: '    merge(total, t);',
    replace: '    if (part != 5) merge(total, t);',
  },
  {
    ...onCpu,
    name: 'the last part is left out',
    find: cpuLoop,
    replace: cpuLoop.replace('plan.splits', 'plan.splits - 1'),
  },
  {
    ...throughLazy,
    name: 'the last part is left out of a call',
    find: cpuLoop,
    replace: cpuLoop.replace('plan.splits', 'plan.splits - 1'),
  },
  {
    ...onGpu,
    name: 'a part in the middle is left out on a GPU',
    find: '  merge(total, t);',
    replace: '  if (part != 40) merge(total, t);',
  },
  {
    ...onGpu,
    name: 'the last part is left out on a GPU',
    find: gpuLoop,
    replace: gpuLoop.replace('plan.splits', 'plan.splits - 1'),
  },
  {
    ...onGpu,
    name: 'a slice of a block is left out',
    file: 'map-reduce/cuda/block.ts',
    // the k smallest and largest are not sliced
    pattern: 'slices and parts that are merged: (Min|Any|Sum|LogSumExp|Prod)',
    find: '++n) merge(all,',
    replace: '++n) if (n != 7) merge(all,',
  },
  {
    ...products,
    name: 'the low parts are not multiplied',
    find: 'const float lo = finite ? tf32_of(v - hi) : 0.0f;',
    replace: 'const float lo = 0.0f;',
  },
  {
    ...products,
    name: 'rows are not centred',
    find: 'x[row * ldx + from + l] - centre[from + l]',
    replace: 'x[row * ldx + from + l]',
  },
  {
    ...products,
    name: 'close pairs are not computed again',
    file: 'pairwise/cuda/products-kernel.ts',
    pattern: 'hold the published bound',
    find: 'const bool far = distance >',
    replace: 'const bool far = distance > 0.0f * norms || distance >',
  },
];
