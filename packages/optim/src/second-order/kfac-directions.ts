import type { Scope, Tensor } from '@mercer/tensor';
import { copyAll, emptyLike } from './blocks.js';
import { preconditioned } from './kfac-inverses.js';
import { weightRows, type KfacLayer } from './kfac-layers.js';

/** What the directions of a step are made of. */
export interface Directions {
  readonly params: readonly Tensor[];
  readonly g: readonly Tensor[];
  readonly damping: Tensor;
  readonly isExact: boolean;
}

/** The natural gradient of each layer, and the gradient of the others. */
export async function directions(
  scope: Scope,
  layers: readonly KfacLayer[],
  { params, g, damping, isExact }: Directions,
): Promise<readonly Tensor[]> {
  const u = emptyLike(scope, params);
  const isLayer = new Set(layers.flatMap(({ places }) => [places.weight, places.bias]));
  const others = [...params.keys()].filter((at) => !isLayer.has(at));
  await copyAll(
    others.map((at) => g[at] as Tensor),
    others.map((at) => u[at] as Tensor),
  );
  /** A layer's weight and bias as one matrix of columns, and both as they lie. */
  const views = (layer: KfacLayer, whole: Tensor, of: readonly Tensor[]) => {
    const { places, outputs, inputs, columns } = layer;
    const weight = weightRows(scope, of[places.weight] as Tensor);
    const columnsOf = scope.track(whole.slice(null, [0, inputs]));
    const parts = [scope.track(columnsOf.reshape(weight.shape))];
    const lists = [weight];
    if (places.bias !== undefined) {
      parts.push(scope.track(whole.slice(null, [inputs, columns])));
      lists.push(scope.track((of[places.bias] as Tensor).reshape([outputs, 1])));
    }
    return { parts, lists };
  };
  const gradients = layers.map(({ outputs, columns, dtype, weight }) =>
    scope.empty([outputs, columns], { dtype, device: weight.param.device }),
  );
  const from = layers.map((layer, at) => views(layer, gradients[at] as Tensor, g));
  await copyAll(
    from.flatMap(({ lists }) => lists),
    from.flatMap(({ parts }) => parts),
  );
  const to = [];
  for (const [at, layer] of layers.entries()) {
    const turned = await preconditioned(scope, layer, gradients[at] as Tensor, isExact, damping);
    to.push(views(layer, turned, u));
  }
  await copyAll(
    to.flatMap(({ parts }) => parts),
    to.flatMap(({ lists }) => lists),
  );
  return u;
}
