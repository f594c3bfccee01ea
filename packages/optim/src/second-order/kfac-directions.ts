import type { Scope, Tensor } from '@mercer/tensor';
import type { RuleStep, SteppedLeaf } from '../rule.js';
import { partsOf, roomFor } from './batches.js';
import { emptyLike } from './blocks.js';
import { stateOf, writeGradients } from './gradients.js';
import { preconditioned } from './kfac-inverses.js';
import { weightRows, type KfacLayer } from './kfac-layers.js';

/** How directions of a step are made. */
export interface Directing {
  readonly weightDecay: number;
  readonly damping: Tensor;
  readonly isExact: boolean;
}

/** Where a step goes. */
export interface Directions {
  /** For each leaf, of its shape: the natural gradient of layers, and the gradient of the others. */
  readonly u: readonly Tensor[];
  /** Gradients of the layers and their natural gradients, weight and bias as columns of one matrix. */
  readonly gradients: readonly Tensor[];
  readonly natural: readonly Tensor[];
}

/** The directions of a step, from gradients that are written as the columns of matrices. */
export async function directions(
  scope: Scope,
  layers: readonly KfacLayer[],
  { leaves, numbers }: Pick<RuleStep, 'leaves' | 'numbers'>,
  { weightDecay, damping, isExact }: Directing,
): Promise<Directions> {
  const matrices = roomFor(
    scope,
    layers.map(({ outputs, columns, dtype, weight }) => ({
      shape: [outputs, columns],
      dtype,
      device: weight.param.device,
    })),
  );
  const isLayer = new Set(layers.flatMap(({ places }) => [places.weight, places.bias]));
  const others = [...leaves.keys()].filter((at) => !isLayer.has(at));
  const own = emptyLike(
    scope,
    others.map((at) => (leaves[at] as SteppedLeaf).param),
  );
  const lists = {
    leaves: others.map((at) => leaves[at] as SteppedLeaf),
    g: others.map((at) => (leaves[at] as SteppedLeaf).grad),
    p: others.map((at) => stateOf(leaves[at] as SteppedLeaf)),
    out: [...own],
  };
  for (const [at, matrix] of partsOf(scope, matrices).entries()) {
    const layer = layers[at] as KfacLayer;
    const { weight, bias, inputs, columns, outputs } = layer;
    const rows = weightRows(scope, weight.grad);
    lists.leaves.push(weight);
    lists.g.push(rows);
    lists.p.push(weightRows(scope, stateOf(weight)));
    lists.out.push(scope.track(scope.track(matrix.slice(null, [0, inputs])).reshape(rows.shape)));
    if (bias === undefined) continue;
    const column = (of: Tensor): Tensor => scope.track(of.reshape([outputs, 1]));
    lists.leaves.push(bias);
    lists.g.push(column(bias.grad));
    lists.p.push(column(stateOf(bias)));
    lists.out.push(scope.track(matrix.slice(null, [inputs, columns])));
  }
  await writeGradients({ numbers }, lists, weightDecay);
  const natural = await preconditioned(scope, layers, matrices, isExact, damping);
  const u: Tensor[] = [];
  for (const [k, at] of others.entries()) u[at] = own[k] as Tensor;
  for (const [at, matrix] of partsOf(scope, natural).entries()) {
    const { places, weight, bias, inputs, columns } = layers[at] as KfacLayer;
    const rows = scope.track(matrix.slice(null, [0, inputs]));
    u[places.weight] = asWeight(scope, rows, weight.param);
    if (places.bias === undefined || bias === undefined) continue;
    const column = scope.track(matrix.slice(null, [inputs, columns]));
    u[places.bias] = scope.track(column.reshape(bias.param.shape));
  }
  return {
    u,
    gradients: matrices.map(({ whole }) => whole),
    natural: natural.map(({ whole }) => whole),
  };
}

/** Rows in the order of `weightRows` as a view of the weight's shape. */
function asWeight(scope: Scope, rows: Tensor, { shape }: Tensor): Tensor {
  const [outputs = 0, channels = 0, ...window] = shape;
  if (window.length === 0) return rows;
  return scope.track(
    scope.track(rows.reshape([outputs, ...window, channels])).permute([0, 3, 1, 2]),
  );
}
