import { prepare } from '@mercer/autodiff';
import { tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { adam, muon, sgd, type Optimiser, type OptimiserState, type StepReport } from './index.js';

const where = { device: 'cpu', dtype: 'float64' } as const;
const matrix = (): Promise<Tensor> => tensor([[1, 2], [3, 4]], where); // prettier-ignore
const ones = (): Promise<Tensor> => tensor([[1, 1], [1, 1]], where); // prettier-ignore

describe('a step that is not awaited in a function that is prepared', () => {
  it.each([
    ['sgd', () => sgd({ lr: 0.5 })],
    ['adam', () => adam({ lr: 0.5 })],
    ['muon', () => muon({ lr: 0.5 })],
  ] as const)('%s: is part of it', async (_, make: () => Optimiser) => {
    const [w, g] = [await matrix(), await ones()];
    const optimiser = make();
    using state = await optimiser.init({ w });
    // another state, whose steps are awaited
    const [other, apart] = [await matrix(), make()];
    using wanted = await apart.init({ w: other });
    const later: Promise<StepReport>[] = [];
    using x = await tensor([1], where);
    using prepared = await prepare(
      (one: Tensor) => {
        later.push(optimiser.step({ w }, { w: g }, state));
        return one.mul(2);
      },
      x as unknown as Tensor,
    );
    for (let step = 0; step < 3; step++) {
      if (step > 0) prepared(x).dispose();
      (await apart.step({ w: other }, { w: g }, wanted)).skipped.dispose();
      expect(await w.toNested()).toEqual(await other.toNested());
      expect(await state.tensors.get('count')?.item()).toBe(step + 1);
    }
    for (const { skipped } of await Promise.all(later)) skipped.dispose();
    for (const one of [w, g, other]) one.dispose();
  });

  it('is refused with the function where it fails', async () => {
    const [w, g] = [await matrix(), await ones()];
    const optimiser = adam();
    using state = await optimiser.init({ w });
    using x = await tensor([1], where);
    const later: Promise<unknown>[] = [];
    const step = (given: OptimiserState): void => {
      later.push(optimiser.step({ other: w }, { other: g }, given).catch(() => undefined));
    };
    const refused = prepare(
      (one: Tensor) => {
        step(state);
        return one.mul(2);
      },
      x as unknown as Tensor,
    );
    await expect(refused).rejects.toMatchObject({ code: 'WRONG_STATE' });
    await Promise.all(later);
    for (const one of [w, g]) one.dispose();
  });
});
