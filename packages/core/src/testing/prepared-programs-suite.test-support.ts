import { describe, expect, it } from 'vitest';
import {
  cholesky,
  eye,
  lazyI,
  lazyJ,
  matmul,
  prepare,
  logdet,
  solveCholesky,
  solveTriangular,
  tensor,
  valueAndGrad,
  type Device,
  type Tensor,
} from '../index.js';

type Floats = Tensor<'float32'>;
type Parameters = Readonly<Record<'w1' | 'b1' | 'w2' | 'b2', Tensor>>;

const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => Math.sin(1 + k * 1.7 + seed * 0.31) / 2);

/** The mean squared error of a network with one hidden layer. */
const error = async ({ w1, b1, w2, b2 }: Parameters, x: Tensor, y: Tensor): Promise<Tensor> => {
  const hidden = (await matmul(x as Floats, w1 as Floats)).add(b1).relu();
  const out = (await matmul((await hidden) as Floats, w2 as Floats)).add(b2);
  return out.sub(y).square().mean();
};

/** One step of gradient descent: new parameters beside the loss. */
async function descend(of: Parameters, x: Tensor, y: Tensor) {
  const { value, grad } = await valueAndGrad(error)(of, x, y);
  const names = Object.keys(of) as (keyof Parameters)[];
  const next = await Promise.all(
    names.map(async (name) => [name, await of[name].sub(grad[name].mul(0.1))] as const),
  );
  for (const one of Object.values(grad)) one.dispose();
  return { value, next: Object.fromEntries(next) as Record<keyof Parameters, Tensor> };
}

/** Products, chains and sums of the state and of what came before; some of it is disposed, and some is written into the state. The same for the same seed. */
async function randomProgram(seed: number, state: readonly Floats[], x: Floats): Promise<Floats> {
  let drawn = seed * 7919 + 17;
  const draw = (below: number): number => {
    drawn = (drawn * 48271) % 2147483647;
    return drawn % below;
  };
  const made: Floats[] = [];
  const one = (): Floats => {
    const all = [x, ...state, ...made];
    return all[draw(all.length)] as Floats;
  };
  for (let k = 0; k < 24; k++) {
    const [a, b] = [one(), one()];
    switch (draw(6)) {
      case 0:
      case 1:
        made.push(await (await matmul(a, b)).mul(0.05).tanh());
        break;
      case 2:
        made.push(await a.sub(b.mul(0.5)).relu());
        break;
      case 3:
        made.push(await a.sub(await b.mean(0)).tanh());
        break;
      case 4:
        made.splice(draw(made.length + 1), 1)[0]?.dispose();
        break;
      default:
        await state[draw(state.length)]?.copyFrom(a.add(b).mul(0.5));
    }
  }
  const last = await x.add(made.at(-1) ?? x);
  for (const each of made) each.dispose();
  return last;
}

/** Programs of several packages that are prepared, on a device. */
export function preparedProgramsSuite(name: string, deviceOf: () => Device): void {
  describe(`prepared programs on ${name}`, () => {
    const make = (shape: readonly number[], seed: number): Promise<Floats> =>
      tensor(
        numbers(
          shape.reduce((all, n) => all * n, 1),
          seed,
        ),
        { shape, device: deviceOf() },
      );

    it('steps of a network give the parameters of ordinary steps, bit for bit', async () => {
      const [x, y] = [await make([8, 12], 5), await make([8, 3], 6)];
      const start: Parameters = {
        w1: await make([12, 16], 1),
        b1: await make([16], 2),
        w2: await make([16, 3], 3),
        b2: await make([3], 4),
      };
      const step = await prepare(descend, start, x, y);
      let [wanted, found] = [start, start];
      for (let k = 0; k < 5; k++) {
        const [ordinary, prepared] = [await descend(wanted, x, y), step(found, x, y)];
        [wanted, found] = [ordinary.next, prepared.next];
        expect(await prepared.value.item()).toBe(await ordinary.value.item());
      }
      for (const one of ['w1', 'b1', 'w2', 'b2'] as const) {
        expect(await found[one].toTypedArray()).toEqual(await wanted[one].toTypedArray());
      }
      step.dispose();
    });

    // on a GPU large enough that several kernels are under way at once
    it('programs with branches, writes in place and memory that is taken again keep their bits', async () => {
      const [size, programs] = deviceOf().kind === 'cpu' ? [24, 6] : [768, 24];
      const x = await make([size, size], 9);
      for (let seed = 0; seed < programs; seed++) {
        const states = await Promise.all(
          ['ordinary', 'prepared'].map(() =>
            Promise.all([1, 2, 3].map((k) => make([size, size], seed + k))),
          ),
        );
        const [ordinary, replayed] = states as [Floats[], Floats[]];
        for (let k = 0; k < 6; k++) await randomProgram(seed, ordinary, x);
        const step = await prepare((x: Floats) => randomProgram(seed, replayed, x), x);
        // the first of the calls has been made by prepare
        for (let k = 0; k < 5; k++) step(x).dispose();
        for (const [k, one] of replayed.entries()) {
          expect(await one.toTypedArray()).toEqual(await ordinary[k]?.toTypedArray());
        }
        step.dispose();
        for (const one of states.flat()) one.dispose();
      }
    });

    it('a state that is an argument too is read before it is written', async () => {
      const f = async (x: Floats, state: Floats): Promise<Floats> => {
        const given = await x.mul(2);
        await state.fill(0);
        return given;
      };
      const size = 4096;
      const [state, other] = [await make([size], 1), await make([size], 2)];
      const wanted = await (await state.mul(2)).toTypedArray();
      const prepared = await prepare((x: Floats) => f(x, state), other);
      await state.copyFrom(await make([size], 1));
      using found = prepared(state);
      expect(await found.toTypedArray()).toEqual(wanted);
      expect((await state.toTypedArray()).every((one) => one === 0)).toBe(true);
      prepared.dispose();
    });

    it('the likelihood of a Gaussian process, with its gradient', async () => {
      const [x, y] = [await make([10, 2], 1), await make([10, 1], 2)];
      const identity = await eye(10, { device: deviceOf() });
      const loss = async (logs: Floats, x: Floats, y: Floats): Promise<Tensor> => {
        const scaled = await x.mul(logs.slice(0).exp());
        const squares = scaled
          .reshape([10, 1, 2])
          .sub(scaled.reshape([1, 10, 2]))
          .square();
        const alike = squares.sum(2).neg().exp();
        const { factor } = await cholesky(await alike.add(identity.mul(0.5)));
        const { x: white } = await solveTriangular(factor, y);
        const halfLogdet = factor.mul(identity).sum(1).log().sum();
        return white.square().sum().mul(0.5).add(halfLogdet);
      };
      const descend = valueAndGrad(loss);
      const prepared = await prepare(descend, await make([1], 3), x, y);
      for (const seed of [3, 4]) {
        const logs = await make([1], seed);
        const [ordinary, found] = [await descend(logs, x, y), prepared(logs, x, y)];
        expect(await found.value.item()).toBe(await ordinary.value.item());
        expect(await found.grad.toTypedArray()).toEqual(await ordinary.grad.toTypedArray());
      }
    });

    it('reductions of pairs and solves, several at once', async () => {
      const f = async (x: Floats, b: Floats) => {
        const [xi, xj] = [lazyI(x), lazyJ(x)];
        const kernel = xi.sqdist(xj).neg().exp();
        const dense = await (await kernel.toDense()).add(await eye(10, { device: x.device }));
        return {
          product: await kernel.matmul(b),
          nearest: await xi.sqdist(xj).kMinArgKMin(3, 'j'),
          solved: (await solveCholesky(dense, b)).x,
          logdet: (await logdet(dense)).logAbs,
        };
      };
      const prepared = await prepare(f, await make([10, 2], 1), await make([10, 1], 2));
      const [x, b] = [await make([10, 2], 7), await make([10, 1], 8)];
      const [wanted, found] = [await f(x, b), prepared(x, b)];
      for (const [one, other] of [
        [found.product, wanted.product],
        [found.nearest.values, wanted.nearest.values],
        [found.nearest.indices, wanted.nearest.indices],
        [found.solved, wanted.solved],
        [found.logdet, wanted.logdet],
      ] as const) {
        expect(await one.toTypedArray()).toEqual(await other.toTypedArray());
      }
    });
  });
}
