// Who may import whom: the picture of docs/architecture.md as data. A package that is not listed may import nothing.

const native = ['cuda-runtime', 'cpu-runtime'];
const belowTensor = ['options', 'formula', 'kernels', 'jit-cache', ...native];
const belowOperations = [...belowTensor, 'tensor', 'autodiff'];
const operations = ['pairwise', 'linalg', 'lazy', 'solvers', 'optim'];

/** For each package, every package that stands below it. Nothing points up or sideways. */
export const layers = /** @type {Record<string, readonly string[]>} */ ({
  options: [],
  formula: ['options'],
  'cuda-runtime': ['options'],
  'cpu-runtime': ['options'],
  kernels: ['options', 'formula'],
  'jit-cache': ['options', ...native],
  tensor: belowTensor,
  autodiff: [...belowTensor, 'tensor'],
  pairwise: belowOperations,
  linalg: belowOperations,
  lazy: belowOperations,
  solvers: [...belowOperations, 'pairwise', 'linalg', 'lazy'],
  optim: [...belowOperations, 'linalg', 'lazy', 'solvers'],
  core: [...belowOperations, ...operations],
  cli: ['options', 'core'],
});
