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
const cpuLoop = 'for (int64_t part = 0; part < ${parts}; part++) {';
const gpuLoop = 'for (int part = 0; part < ${plan.splits}; ++part) {';

/**
 * Merges that leave out one part of the reduced rows: the test of every reduction must notice.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const mutants = [
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
    replace: cpuLoop.replace('${parts}', '${parts} - 1'),
  },
  {
    ...throughLazy,
    name: 'the last part is left out of a call',
    find: cpuLoop,
    replace: cpuLoop.replace('${parts}', '${parts} - 1'),
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
];
