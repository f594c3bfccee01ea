/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const PER_SAMPLE = {
  promise: 'gradients of single examples are those of a loop',
  test: '../optim/src/per-sample/per-sample-gradients.test.ts',
};
const OBSERVED = { ...PER_SAMPLE, file: '../../optim/src/statistics/observed.ts' };
const GRADIENTS = { ...PER_SAMPLE, file: '../../optim/src/per-sample/combined.ts' };

/** @type {readonly Mutant[]} */
export const layers = [
  {
    ...OBSERVED,
    name: 'a parameter that is used otherwise goes unseen',
    find: 'if (layer === undefined || !isParameterAt(at)) onOtherUse?.(mark, name);',
    replace: 'if (layer !== undefined && !isParameterAt(at)) onOtherUse?.(mark, name);',
    pattern: 'finds what is no use by a layer, and maps the gradient then',
  },
  {
    ...OBSERVED,
    name: 'outputs that are constants are forgotten',
    find: 'if (isTensor(made)) made.dispose();',
    replace: '',
    pattern: 'takes no examples, and gives all memory back',
  },
  {
    ...GRADIENTS,
    name: 'a sum counts as a mean',
    find: "const factor = reduction === 'mean' ? count : 1;",
    replace: 'const factor = count;',
    pattern: 'takes the sum of losses too, and float32',
  },
  {
    ...PER_SAMPLE,
    name: 'gradients are not written where it is said',
    file: '../../optim/src/per-sample/per-sample-gradients.ts',
    find: 'await ownedInto(WHAT, write, into)(numbers, ...tensors);',
    replace: 'await ownedInto(WHAT, write, [])(numbers, ...tensors);',
    pattern: 'of a perceptron are written where it is said',
  },
  {
    ...GRADIENTS,
    name: 'squares of norms are scaled once',
    find: 'squaredNorm().mul(factor ** 2)',
    replace: 'squaredNorm().mul(factor)',
    pattern: 'a perceptron by rules is what a loop gives, in chunks too',
  },
  {
    ...PER_SAMPLE,
    file: '../../optim/src/per-sample/chunks.ts',
    name: 'each chunk drops as the first',
    find: '{ start, of: count }',
    replace: '{ start: 0, of: count }',
    pattern: 'drops of each example what it drops in the batch',
  },
  {
    ...PER_SAMPLE,
    file: '../../optim/src/per-sample/chunks.ts',
    name: 'means over labels that count are by rules',
    find: "reduction !== 'mean' || (weights ?? ignoreIndex) === undefined",
    replace: 'true',
    pattern: 'do not depend on the chunks',
  },
  {
    promise: 'products of 16 bits have rounded factors, and nothing else',
    file: '../../optim/src/precision/autocast.ts',
    test: '../optim/src/precision/autocast.test.ts',
    name: 'convolutions keep a factor',
    find: 'conv1d: 2, ',
    replace: 'conv1d: 1, ',
    pattern: 'rounds factors to bfloat16, and sums in float32',
  },
];
