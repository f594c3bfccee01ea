import {
  adam,
  adamW,
  cholesky,
  layers,
  losses,
  matmul,
  oneHot,
  precompile,
  prepare,
  random,
  sgd,
  solveCholesky,
  tensor,
  valueAndGrad,
  type Device,
  type Tensor,
} from '@mercer/core';
import { CliError } from '../cli-error.js';
import { DESCRIPTOR_NAMES, descriptorCalls } from '../options/descriptors.js';
import type { MatrixSize } from '../options/parse-size.js';
import { describeReduction, type ReductionTexts } from '../reduce/describe-reduction.js';
import { warmFormula } from './warm-formula.js';

/** How much is compiled: what most programs call, or a few of it. */
export type UsualExtent = 'all' | 'few';

const SIZES: readonly MatrixSize[] = [
  { m: 1000, n: 1000 },
  { m: 10_000, n: 10_000 },
  { m: 100_000, n: 100_000 },
];
const DIMS = [1, 2, 3, 10, 64, 100];
const FEW_SIZES = SIZES.slice(0, 1);

/** Formulas over points x and y of D numbers, with one number b for each y. */
const FORMULAS: readonly Omit<ReductionTexts, 'alias'>[] = [
  { formula: 'Exp(-SqDist(x,y))*b' },
  { formula: 'Exp(-g*SqDist(x,y))*b' },
  { formula: 'Exp(-Sqrt(SqDist(x,y)))*b' },
  { formula: 'Grad(Exp(-SqDist(x,y))*b,x,e)' },
  { formula: '-SqDist(x,y)', reduction: 'LogSumExp' },
  { formula: 'SqDist(x,y)', reduction: 'Min' },
  { formula: 'SqDist(x,y)', reduction: 'ArgMin' },
  { formula: 'SqDist(x,y)', reduction: 'ArgKMin', k: 10 },
];

type Way = (device: Device, extent: UsualExtent) => Promise<void>;

/** The kernels of descriptors, which distances of the same norms share. */
const descriptors: Way = async (device, extent) => {
  const few = extent === 'few';
  const options = { device, layouts: [['row', 'row', 'row']] } as const;
  await precompile(descriptorCalls(few ? ['euclidean'] : DESCRIPTOR_NAMES), {
    ...options,
    sizes: [1000, 30_000].flatMap((m) => (few ? [3] : [3, 64, 1024]).map((k) => ({ m, n: m, k }))),
  });
};

/** Reductions of symbolic matrices. */
const reductions: Way = async (device, extent) => {
  const few = extent === 'few';
  for (const texts of few ? FORMULAS.slice(0, 1) : FORMULAS) {
    for (const dim of few ? [3] : DIMS) {
      const alias = [`x=Vi(${dim})`, `y=Vj(${dim})`, ...othersOf(texts.formula)];
      const reduce = describeReduction({ ...texts, alias, axis: 1 });
      const sizes = few ? FEW_SIZES : SIZES;
      await warmFormula({
        text: texts.formula,
        reduce,
        dtypes: ['float32'],
        sizes,
        device,
        onProgress: () => undefined,
      });
    }
  }
};

/** Aliases of what stands in a formula beside its points. */
function othersOf(formula: string): string[] {
  const others = { b: 'b=Vj(1)', g: 'g=Pm(1)', e: 'e=Vi(1)' };
  return Object.entries(others).flatMap(([name, alias]) =>
    new RegExp(`\\b${name}\\b`).test(formula) ? [alias] : [],
  );
}

/** Arithmetic of tensors, sums over axes, conversions and copies. */
const arithmetic: Way = async (device, extent) => {
  const dtypes = extent === 'few' ? (['float32'] as const) : (['float32', 'float64'] as const);
  for (const dtype of dtypes) {
    const a = await tensor([[1, 2, 3, 4], [5, 6, 7, 8]], { dtype, device }); // prettier-ignore
    const row = await tensor([1, 2, 3, 4], { dtype, device });
    const results = [
      a.add(a),
      a.sub(a),
      a.mul(a),
      a.div(a),
      a.mul(2),
      a.add(2),
      a.sub(2),
      a.div(2),
    ];
    if (extent === 'all') {
      results.push(
        a.neg(),
        a.exp(),
        a.log(),
        a.sqrt(),
        a.abs(),
        a.square(),
        a.add(row),
        a.mul(row),
      );
      results.push(a.sum(), a.sum(0), a.sum(1), a.mean(0), a.mean(1), a.max(1), a.min(1));
    }
    for (const result of results) await (await result).ready();
    if (extent === 'few') continue;
    await (await a.transpose().contiguous()).ready();
    await (await a.cast(dtype === 'float32' ? 'float64' : 'float32')).ready();
  }
};

/** What a library's factorisations and products on a GPU need around them; on a CPU they are no texts. */
const linearAlgebra: Way = async (device, extent) => {
  if (extent === 'few' || device.kind === 'cpu') return;
  for (const dtype of ['float32', 'float64'] as const) {
    const a = await tensor([[4, 1], [1, 3]], { dtype, device }); // prettier-ignore
    const b = await tensor([[1], [2]], { dtype, device });
    for (const call of [() => matmul(a, b), () => solveCholesky(a, b), () => cholesky(a)]) {
      await call().catch((error: unknown) => {
        // Without the library nobody makes these calls.
        if (!isMissing(error)) throw error;
      });
    }
  }
};

const BATCHES = [64, 1024];
const [FEATURES, HIDDEN, CLASSES] = [128, 64, 10];

/** Steps of networks by the usual optimisers: the kernels of layers, losses, their gradients and updates, and those that captured steps begin and end with. */
const training: Way = async (device, extent) => {
  if (extent === 'few') return;
  const numbers = await tensor([1, 2], { device });
  (await prepare((x: Tensor) => x.add(1), numbers)).dispose();
  const { linear, relu, gelu, tanh, sigmoid, layerNorm, dropout } = layers;
  for (const activation of [relu(), gelu(), tanh(), sigmoid()]) {
    const network = layers.sequential({
      first: linear({ inputs: FEATURES, outputs: HIDDEN }),
      activation,
      norm: layerNorm({ shape: HIDDEN }),
      dropout: dropout({ rate: 0.1 }),
      last: linear({ inputs: HIDDEN, outputs: CLASSES }),
    });
    const params = await network.init(random.key(0), { device });
    const ofClasses = valueAndGrad((own: typeof params, x: Tensor, labels: Tensor) =>
      losses.crossEntropy(network.apply(own, x, { training: true, key: random.key(1) }), labels),
    );
    const ofNumbers = valueAndGrad((own: typeof params, x: Tensor, wanted: Tensor) =>
      losses.mse(network.apply(own, x), wanted),
    );
    for (const batch of BATCHES) {
      const images = await random.normal([batch, FEATURES], { key: random.key(2), device });
      const labels = await tensor(new Int32Array(batch), { device });
      const { grad } = await ofClasses(params, images, labels);
      await ofNumbers(params, images, await oneHot(labels, CLASSES));
      for (const optimiser of [sgd({ lr: 0.1, momentum: 0.9 }), adam(), adamW()])
        await optimiser.step(params, grad, await optimiser.init(params));
    }
  }
};

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'LIBRARY_NOT_FOUND';

const WAYS = {
  descriptors,
  reductions,
  arithmetic,
  'linear algebra': linearAlgebra,
  training,
} as const;

/**
 * Compiles the kernels of usual calls: descriptors and distances, reductions of the usual symbolic matrices over points of 1 to 100
 * numbers, arithmetic of tensors, steps of training, and on a GPU what linear algebra needs around its libraries. Calls of arithmetic and
 * training are made, which on a CPU waits for the compiler where MERCER_CPU is `compiled`.
 */
export async function warmUsual(
  device: Device,
  extent: UsualExtent,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const ways = Object.entries(WAYS);
  for (const [done, [name, way]] of ways.entries()) {
    onProgress(done, ways.length);
    await way(device, extent).catch((error: unknown) => {
      throw new CliError(
        'WARM_FAILED',
        `Cannot compile the kernels of ${name} for ${device.id}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    });
  }
  onProgress(ways.length, ways.length);
}
