import { valueAndGrad, type Tree } from '@mercer/autodiff';
import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import { adam, lbfgs, type OptimiserState } from './index.js';

interface Layer {
  readonly weight: Tensor;
  readonly bias?: Tensor;
}

interface Network {
  readonly first: Layer;
  readonly others: readonly Layer[];
}

declare const network: Network;
declare const state: OptimiserState;
declare const loss: (params: Network) => Tensor;

describe('an optimiser', () => {
  it('takes trees of interfaces, and what valueAndGrad gives, without casts', async () => {
    const optimiser = lbfgs();
    expectTypeOf(await optimiser.init(network)).toEqualTypeOf<OptimiserState>();
    const evaluate = valueAndGrad(loss);
    const { value, grad } = await evaluate(network);
    await optimiser.step(network, grad, state, { value, evaluate });
    const perSample = (params: Network): Promise<Network> => Promise.resolve(params);
    await optimiser.step(network, grad, state, { perSample });
  });

  it('takes a tensor, lists, and any tree', async () => {
    const tensor = network.first.weight;
    await adam().init(tensor);
    await adam().init([tensor, { a: tensor }]);
    await adam().step(network as unknown as Tree, [], state, {});
  });

  it('takes no numbers, nor a loss of other parameters', async () => {
    // @ts-expect-error a number is no parameter
    await adam().init({ weight: 3 });
    // @ts-expect-error a number alone is none either
    await adam().init(3);
    const evaluate = valueAndGrad((params: { readonly other: Tensor }) => params.other);
    // @ts-expect-error the loss is one of other parameters
    await lbfgs().step(network, network, state, { evaluate });
  });
});
