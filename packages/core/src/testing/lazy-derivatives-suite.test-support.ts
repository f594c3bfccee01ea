import {
  checkpoint,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  valueAndGrad,
  vmap,
} from '@mercer/autodiff';
import {
  complexOf,
  genred,
  gradient,
  jointReduction,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rangesFromMatrix,
  valueAndGradients,
  type LazyTensor,
} from '@mercer/lazy';
import { tensor, type Tensor as AnyTensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  drawnOn,
  expectClose,
  expectGradient,
  uniform,
} from '../../../autodiff/test/differences.mjs';

type Tensor = AnyTensor<'float64'>;
type Scalar = (...inputs: Tensor[]) => PromiseLike<Tensor> | Tensor;

/** Derivatives through reductions of symbolic matrices; of random formulas, those of the groups. */
export function describeLazyDerivatives(
  device: () => Device,
  groups: readonly number[] = Array.from({ length: 12 }, (_, group) => group),
): void {
  const drawn = drawnOn(device);

  const weighed = async (result: Tensor | PromiseLike<Tensor>): Promise<Tensor> => {
    const value = await result;
    const weights = await drawn(value.shape, [0.5, 1.5], 7);
    return value.mul(weights).square().sum();
  };

  /** First derivatives backwards and forwards, and second ones along a direction, by every input, against differences. */
  async function expectDerivatives(
    f: Scalar,
    inputs: readonly Tensor[],
    orders = 2,
  ): Promise<void> {
    const argnums = inputs.map((_, k) => k);
    const gradients = await grad(f, { argnums })(...inputs);
    const changes = await Promise.all(inputs.map(({ shape }, k) => drawn(shape, [-1, 1], 50 + k)));
    let slope = 0;
    for (const by of argnums) {
      const one = gradients[by] as Tensor;
      expect(one.shape).toEqual(inputs[by]?.shape);
      const numbers = Array.from(await one.toTypedArray(), Number);
      await expectGradient(numbers, f as never, inputs, by, 1e-6);
      const change = Float64Array.from(await (changes[by] as Tensor).toTypedArray(), Number);
      slope += numbers.reduce((sum, each, k) => sum + each * (change[k] ?? 0), 0);
    }
    const { tangent } = await jvp(f)(inputs as never, changes);
    expectClose([await tangent.item()], [slope], 1e-6);
    if (orders < 2) return;
    const along: Scalar = async (...given) => {
      const found = await grad(f, { argnums })(...given);
      const terms = found.map((one, k) => one.mul(changes[k] as Tensor).sum());
      return terms.reduce((sum, term) => sum.add(term));
    };
    const seconds = await grad(along, { argnums })(...inputs);
    for (const by of argnums) {
      const numbers = await (seconds[by] as Tensor).toTypedArray();
      await expectGradient(numbers, along as never, inputs, by, 1e-6);
    }
  }

  const points = (): Promise<Tensor> => drawn([5, 3], [-1, 1], 1);
  const others = (): Promise<Tensor> => drawn([4, 3], [-1, 1], 2);
  const gaussian = (x: Tensor, y: Tensor): LazyTensor<'float64'> =>
    lazyI(x).sqdist(lazyJ(y)).neg().exp();

  describe('derivatives through sums', () => {
    it('of a Gaussian, by rows of both sides, without awaiting what is between', async () => {
      const f: Scalar = (x, y) => gaussian(x, y).sum('j').square().sum();
      await expectDerivatives(f, [await points(), await others()]);
    });

    it('weighted by rows and by a parameter, over either side', async () => {
      const f: Scalar = (x, y, b, s) =>
        weighed(lazyI(x).sqdist(lazyJ(y)).mul(param(s)).neg().exp().mul(lazyJ(b)).sum('j'));
      const [b, s] = [await drawn([4, 2], [-1, 1], 3), await drawn([1], [0.5, 1], 4)];
      await expectDerivatives(f, [await points(), await others(), b, s]);
      const g: Scalar = (x, y, a, scale) =>
        weighed(gaussian(x, y).mul(lazyI(a)).div(param(scale)).sum('i'));
      await expectDerivatives(g, [
        await points(),
        await others(),
        await drawn([5, 1], [0, 1], 5),
        s,
      ]);
    });

    it('of one tensor as rows of both sides, and of results of operations', async () => {
      const f: Scalar = async (x) => weighed(gaussian(await x.sin(), await x.mul(2)).sum('j'));
      await expectDerivatives(f, [await points()]);
      await expectDerivatives((x) => weighed(gaussian(x, x).sum('j')), [await points()]);
    });

    it('in blocks of rows on several devices, where inputs lie elsewhere too', async () => {
      const cut = { devices: [device(), device()], maxBytes: 2500 };
      const f: Scalar = async (x, y, b) => {
        const rows = await weighed(gaussian(x, y).mul(lazyJ(b)).sum('j', cut));
        return rows.add(gaussian(x, y).logSumExp('i', cut).sum());
      };
      const given = [await points(), await others(), await drawn([4, 1], [0.5, 1], 5)];
      await expectDerivatives(f, given);
      const [x, y] = await Promise.all(given.slice(0, 2).map((one) => one.to('cpu')));
      const energy: Scalar = async (a, b) => gaussian(a, b).sum('j', cut).to('cpu').sum();
      const [byX, byY] = await grad(energy, { argnums: [0, 1] })(x!, y!);
      expect([byX.device.id, byY.device.id]).toEqual(['cpu', 'cpu']);
      const whole: Scalar = async (a, b) => gaussian(a, b).sum('j').sum();
      const wanted = await grad(whole, { argnums: [0, 1] })(x!, y!);
      expectClose(await byX.toTypedArray(), await wanted[0].toTypedArray(), 1e-12);
      expectClose(await byY.toTypedArray(), await wanted[1].toTypedArray(), 1e-12);
    });

    it('of batches that broadcast', async () => {
      const f: Scalar = (x, y, s) =>
        weighed(lazyI(x).sqdist(lazyJ(y)).mul(param(s)).neg().exp().sum('j'));
      const x = await drawn([2, 1, 3, 2], [-1, 1], 1);
      const s = await drawn([2, 1, 1], [0.5, 1], 4);
      await expectDerivatives(f, [x, await drawn([3, 4, 2], [-1, 1], 2), s]);
    });
  });

  type Lazy = LazyTensor<'float64'>;

  describe('derivatives through reductions of each kind', () => {
    const rows = (x: Tensor, y: Tensor): Lazy => lazyI(x).mul(lazyJ(y)).sub(lazyJ(y).sin());
    const KINDS: Readonly<Record<string, (f: Lazy, w: Lazy) => PromiseLike<AnyTensor>>> = {
      mean: (f) => f.mean('j'),
      var: (f) => f.var('j'),
      prod: (f) => f.prod('j'),
      logSumExp: (f) => f.sum().logSumExp('j'),
      'weighted logSumExp': (f, w) => f.sum().logSumExp('j', { weight: w.square().add(1) }),
      sumSoftMaxWeight: (f, w) => f.sum().sumSoftMaxWeight(w, 'j'),
      min: (f) => f.min('j'),
      max: (f) => f.max('i'),
      kMin: (f) => f.kMin(2, 'j'),
      kMax: (f) => f.kMax(2, 'j'),
      'values of minArgMin': async (f) => (await f.minArgMin('j')).values,
      'values of kMaxArgKMax': async (f) => (await f.kMaxArgKMax(2, 'i')).values,
    };
    it.each(Object.keys(KINDS))('%s', async (kind) => {
      const reduce = KINDS[kind] as (f: Lazy, w: Lazy) => PromiseLike<Tensor>;
      const f: Scalar = (x, y, w) => {
        // the weight is read by each kind
        const value = rows(x, y);
        return weighed(reduce(value.add(lazyJ(w).mul(0.1)), lazyJ(w)));
      };
      await expectDerivatives(f, [await points(), await others(), await drawn([4, 3], [0, 1], 3)]);
    });

    it('at a tie the first extremum takes the gradient', async () => {
      const y = await tensor(Float64Array.of(2, 1, 1), { shape: [3, 1], device: device() });
      const found = await grad((v: Tensor) => lazyJ(v).min('j').sum())(y);
      expect(await found.toNested()).toEqual([[0], [1], [0]]);
    });

    it('row numbers, counts and masks are constant', async () => {
      const x = await points();
      const f = async (v: Tensor): Promise<AnyTensor> => {
        const distance = lazyI(v).sqdist(lazyJ(x));
        const nearest = await distance.argMin('j');
        const near = await distance.lt(1).count('j');
        const { indices } = await distance.lt(1).nonzero('j');
        expect(nearest.shape).toEqual([5, 1]);
        return distance.sum('j').sum().mul(near.sum()).mul(indices.size);
      };
      const pairs = await lazyI(x).sqdist(lazyJ(x)).lt(1).sum('j').sum().item();
      const slope = await grad((v: Tensor) => lazyI(v).sqdist(lazyJ(x)).sum('j').sum())(x);
      const expected = await slope.mul(pairs ** 2).toTypedArray();
      expectClose(await (await grad(f)(x)).toTypedArray(), expected, 1e-12);
      const counts = grad((v: Tensor) => lazyI(v).sqdist(lazyJ(x)).lt(1).count('j').sum());
      await expect(counts(x)).rejects.toThrow(expect.objectContaining({ code: 'INDEPENDENT' }));
    });
  });

  describe('derivatives through what else a formula reads', () => {
    it('values of pairs', async () => {
      const f: Scalar = (m, y) => weighed(lazyPair(m).mul(lazyJ(y)).exp().sum('j'));
      await expectDerivatives(f, [await drawn([5, 4], [-1, 1], 1), await others()]);
      const g: Scalar = (m, x) =>
        weighed(lazyPair(m, { components: true }).mul(lazyI(x)).sin().sum('i'));
      await expectDerivatives(g, [await drawn([2, 5, 4, 3], [-1, 1], 1), await points()]);
    });

    it('rows by an index of one side, and of pairs', async () => {
      const index = await tensor([[2], [0], [2], [1], [0]], { device: device(), dtype: 'float64' });
      const f: Scalar = (table, y) =>
        weighed(lazyI(index).gather(table).sqdist(lazyJ(y)).neg().exp().sum('j'));
      await expectDerivatives(f, [await others(), await others()]);
      const g: Scalar = (table, y) =>
        weighed(
          lazyI(index).sub(lazyJ(y).elem(0).mul(0).add(1)).abs().gather(table).sin().sum('j'),
        );
      await expectDerivatives(g, [await others(), await others()], 1);
      const own: Scalar = (x) => weighed(lazyI(x).mul(lazyI(index).gather(x)).sum('j'));
      await expectDerivatives(own, [await points()]);
    });

    it('ranges of rows', async () => {
      const ranges = {
        rangesI: [
          [0, 2],
          [2, 5],
        ],
        slicesI: [1, 3],
        redrangesJ: [
          [0, 3],
          [0, 1],
          [2, 4],
        ],
        rangesJ: [
          [0, 1],
          [1, 2],
          [2, 3],
          [3, 4],
        ],
        slicesJ: [2, 3, 5, 6],
        redrangesI: [
          [0, 2],
          [2, 5],
          [0, 2],
          [0, 2],
          [2, 5],
          [2, 5],
        ],
      } as const;
      const f: Scalar = (x, y) => weighed(gaussian(x, y).sum('j', { ranges }));
      await expectDerivatives(f, [await points(), await others()]);
      const g: Scalar = (x, y) => weighed(gaussian(x, y).log().logSumExp('j', { ranges }));
      await expectDerivatives(g, [await points(), await others()]);
      const h: Scalar = (m, x, y) =>
        weighed(gaussian(x, y).mul(lazyPair(m).sin()).sum('j', { ranges }));
      const m = await drawn([2, 5, 4], [-1, 1], 3);
      await expectDerivatives(h, [m, await points(), await others()]);
      const outside = await grad(h)(m, await points(), await others());
      const isMet = (i: number, j: number): boolean => (i < 2 ? j < 3 : j < 1 || j > 1);
      const slopes = await outside.toTypedArray();
      for (const [at, slope] of slopes.entries()) {
        expect(slope !== 0).toBe(isMet(Math.floor(at / 4) % 5, at % 4));
      }
      const overI: Scalar = (m, y) =>
        weighed(lazyPair(m, { components: true }).mul(lazyJ(y)).sum().logSumExp('i', { ranges }));
      await expectDerivatives(overI, [await drawn([5, 4, 3], [-1, 1], 4), await others()]);
    });

    it('ranges of rows, mapped', async () => {
      const ranges = rangesFromMatrix(
        [
          [0, 2],
          [3, 5],
        ],
        [[1, 4]],
        [[1], [0]],
      );
      const [m, y] = [await drawn([3, 5, 4], [-1, 1], 3), await others()];
      const slope = grad((one: Tensor, rows: Tensor) =>
        lazyPair(one).sin().mul(lazyJ(rows)).sum('j', { ranges }).sum(),
      );
      const mapped = await vmap(slope, { inAxes: [0, null] })(m, y);
      const alone = await Promise.all([0, 1, 2].map((at) => slope(m.slice(at), y)));
      const wanted = await Promise.all(alone.map((one) => one.toNested()));
      expect(await mapped.toNested()).toEqual(wanted);
    });

    it('complex numbers', async () => {
      const f: Scalar = (x, y) =>
        weighed(
          complexOf(lazyI(x))
            .mul(complexOf(lazyJ(y)).exp())
            .sum('j'),
        );
      await expectDerivatives(f, [
        await drawn([3, 4], [-1, 1], 1),
        await drawn([2, 4], [-1, 1], 2),
      ]);
    });
  });

  describe('derivatives through other ways to reduce', () => {
    it('products of complex matrices and vectors, parts and transposes', async () => {
      const f: Scalar = (x, y, v) => {
        const product = complexOf(lazyI(x)).mul(complexOf(lazyJ(y)).exp());
        const parts = product.elem(1).concat(product.extract(0, 1)).t();
        return weighed(parts.matmul(v));
      };
      await expectDerivatives(f, [
        await drawn([3, 4], [-1, 1], 1),
        await drawn([2, 4], [-1, 1], 2),
        await drawn([3, 4], [-1, 1], 3),
      ]);
    });

    it('adds up the gradients as the call adds up', async () => {
      // 1, then terms that float32 loses one by one.
      const rows = 20_001;
      const place = { device: device() } as const;
      const terms = new Float32Array(rows).fill(2 ** -25).fill(1, 0, 1);
      const y = await tensor(terms, { shape: [rows, 1], ...place });
      const one = await tensor([[1]], place);
      const wanted = [[Math.fround(1 + 20_000 * 2 ** -25)]];
      const options = { accumulate: 'float64', sumScheme: 'direct' } as const;
      // beside the sum, and in a pass of its own over the other side
      const beside = (x: AnyTensor<'float32'>) => lazyI(x).mul(lazyJ(y)).sum('j', options).sum();
      const behind = (x: AnyTensor<'float32'>) => lazyI(y).mul(lazyJ(x)).sum('j', options).sum();
      for (const f of [beside, behind])
        expect(await (await grad(f)(one)).toNested()).toEqual(wanted);
    });

    it('results in 16 bits, whose derivatives are those of what was computed', async () => {
      const [x, y] = [await drawn([5, 3], [-1, 1], 1), await drawn([40, 3], [-1, 1], 2)];
      const slopes = async (outDtype: 'float16' | undefined): Promise<readonly number[]> => {
        const f = grad(async (v: Tensor) => {
          const distance = lazyI(v).sqdist(lazyJ(y));
          const found = await distance.logSumExp('j', { outDtype });
          if (outDtype !== undefined) expect(found.dtype).toBe(outDtype);
          return (await found.cast('float64')).sum();
        });
        return [...(await (await f(x)).toTypedArray())].map(Number);
      };
      expect(await slopes('float16')).toEqual(await slopes(undefined));
    });

    it('a text, by its arguments', async () => {
      const sums = genred('Exp(-SqDist(x, y)) * p', ['x = Vi(3)', 'y = Vj(3)', 'p = Pm(2)'], {
        axis: 1,
      });
      const f: Scalar = (x, y, p) => weighed(sums(x, y, p) as PromiseLike<Tensor>);
      await expectDerivatives(f, [await points(), await others(), await drawn([2], [0, 1], 3)]);
    });

    it('matmul by vectors, dense matrices, diagonals, some rows and transposes', async () => {
      const f: Scalar = (x, y, v) => weighed(gaussian(x, y).matmul(v));
      await expectDerivatives(f, [await points(), await others(), await drawn([4], [-1, 1], 3)]);
      await expectDerivatives(f, [await points(), await others(), await drawn([4, 2], [-1, 1], 3)]);
      const dense: Scalar = (x, y, m) => weighed(gaussian(x, y).mul(lazyPair(m)).toDense());
      const inputs = [await points(), await others(), await drawn([5, 4], [-1, 1], 3)];
      await expectDerivatives(dense, inputs);
      const diagonal: Scalar = async (x, m) =>
        weighed(
          lazyI(x)
            .mul(lazyJ(await x.sin()))
            .mul(lazyPair(m))
            .diag(),
        );
      await expectDerivatives(diagonal, [await points(), await drawn([5, 5], [-1, 1], 4)]);
      const turned: Scalar = (x, y, m) => weighed(gaussian(x, y).mul(lazyPair(m)).t().sum('i'));
      await expectDerivatives(turned, inputs);
      const some: Scalar = (x, y, m) =>
        weighed(gaussian(x, y).mul(lazyPair(m)).rows([1, 5, 2]).sum('j'));
      await expectDerivatives(some, inputs);
    });

    it('several reductions in one pass', async () => {
      const f: Scalar = async (x, y) => {
        const distance = lazyI(x).sqdist(lazyJ(y));
        const both = jointReduction({
          sum: distance.neg().exp().reduction('Sum', 'j'),
          least: distance.reduction('MinArgMin', 'j'),
          count: distance.lt(1).reduction('Count', 'j'),
          other: lazyI(x).reduction('Sum', 'j'),
        });
        const { sum, least, count } = await both.call();
        return weighed(sum.mul(least.values).mul(count.add(1)));
      };
      await expectDerivatives(f, [await points(), await others()]);
    });

    it('gradients that are asked for with a cotangent', async () => {
      const f: Scalar = (x, y, c) => {
        const of = gaussian(x, y).reduction('Sum', 'j');
        return weighed(gradient(of, of.inputs[0] === undefined ? '' : lazyI(x), c));
      };
      await expectDerivatives(f, [await points(), await others(), await drawn([5, 1], [-1, 1], 3)]);
      const g: Scalar = async (x, y) => {
        const [rows, columns] = [lazyI(x), lazyJ(y)];
        const of = rows.sqdist(columns).neg().reduction('LogSumExp', 'j');
        const { value, gradients } = await valueAndGradients(of, { rows, columns });
        return weighed(gradients.rows.sum().add(gradients.columns.square().sum()).add(value.sum()));
      };
      await expectDerivatives(g, [await points(), await others()]);
    });

    it('matrices of derivatives, and products of second ones', async () => {
      const [x, y] = [await points(), await others()];
      const f = (v: Tensor) => gaussian(v, y).sum('j');
      const ofThird = (await jacobian(f as never)(x)).slice(2, 0);
      const third: Scalar = (v) => gaussian(v, y).sum('j').slice(2, 0);
      await expectGradient(await ofThird.toTypedArray(), third as never, [x], 0, 1e-6);
      const loss: Scalar = (v) => gaussian(v, y).sum('j').square().sum();
      const direction = await drawn([5, 3], [-1, 1], 9);
      const product = await (await hvp(loss)(x, direction)).toTypedArray();
      const along: Scalar = async (v) => (await grad(loss)(v)).mul(direction).sum();
      await expectGradient(product, along as never, [x], 0, 1e-6);
    });
  });

  describe('products with factors that are 0', () => {
    const factors = [1.5, -0.5];

    /** Derivatives of the sum of `prod_j a v_j` over a: what is left of the product, at places that differ. */
    const remaining = (v: readonly number[], places: readonly number[]): number => {
      if (new Set(places).size < places.length) return 0;
      const rest = v.reduce((all, one, at) => (places.includes(at) ? all : all * one), 1);
      return factors.reduce((sum, a) => sum + a ** v.length, 0) * rest;
    };

    it.each([[[0, 2, 3]], [[0, 0, 3, -1]], [[0, 0, 0, 2]], [[0, 0, 0, 0]], [[1, -2, 3]]])(
      'of every order up to the third: %j',
      async (v) => {
        const n = v.length;
        const on = { device: device() };
        const x = await tensor(Float64Array.from(v), { ...on, shape: [n, 1] });
        const a = lazyI(await tensor(Float64Array.from(factors), { ...on, shape: [2, 1] }));
        const f = (w: Tensor): PromiseLike<Tensor> => a.mul(lazyJ(w)).prod('j').sum();
        const places = [...v.keys()];
        const first = await (await grad(f)(x)).toTypedArray();
        expectClose(first, places.map((k) => remaining(v, [k])), 1e-13); // prettier-ignore
        const second = await (await hessian(f as never)(x)).toTypedArray();
        const wanted = places.flatMap((k) => places.map((l) => remaining(v, [k, l])));
        expectClose(second, wanted, 1e-13);
        const t = await drawn([n, 1], [-1, 1], 3);
        const along = async (w: Tensor): Promise<Tensor> => (await grad(f)(w)).mul(t).sum();
        const numbers = await t.toTypedArray();
        const sumOver = (k: readonly number[]): number =>
          places.reduce((sum, l) => sum + remaining(v, [...k, l]) * (numbers[l] ?? NaN), 0);
        expectClose(await (await grad(along)(x)).toTypedArray(), places.map((k) => sumOver([k])), 1e-13); // prettier-ignore
        const third = await (await hessian(along as never)(x)).toTypedArray();
        expectClose(third, places.flatMap((k) => places.map((l) => sumOver([k, l]))), 1e-13); // prettier-ignore
      },
    );
  });

  describe('random formulas', () => {
    const KINDS = ['Sum', 'Mean', 'Var', 'LogSumExp', 'Max', 'KMin'] as const;

    /** A formula of two rows, a parameter and values of pairs, with numbers of modest size. */
    function randomTree(next: () => number, leaves: readonly Lazy[]): Lazy {
      const all = [...leaves];
      const one = (): Lazy => all[Math.floor(next() * all.length)] as Lazy;
      for (let step = 0; step < 5; step++) {
        const [a, b] = [one(), one()];
        const made = [
          () => a.add(b),
          () => a.mul(b).tanh(),
          () => a.sub(b).sin(),
          () => a.mul(0.5).exp().mul(b.cos()),
          () => a.square().add(1).log().add(b),
          () => a.sqdist(b).neg().exp(),
        ];
        all.push((made[Math.floor(next() * made.length)] as () => Lazy)());
      }
      const last = all.at(-1) as Lazy;
      return leaves.reduce((sum, leaf) => sum.add(leaf.mul(0.1).sin()), last);
    }

    it.each(groups)('group %i', async (group) => {
      const kind = KINDS[group % KINDS.length] as (typeof KINDS)[number];
      const axis = group < 6 ? 'j' : 'i';
      const f: Scalar = async (x, y, p, m) => {
        const leaves = [lazyI(x), lazyJ(y), param(p), lazyPair(m)];
        const tree = randomTree(uniform(100 + group), leaves);
        const of = (kind === 'LogSumExp' ? tree.sum() : tree).reduction(
          kind,
          axis,
          kind === 'KMin' ? { k: 2 } : {},
        );
        return weighed(of.call());
      };
      const inputs = [
        await drawn(group % 2 === 0 ? [4, 2] : [2, 4, 2], [-1, 1], group + 1),
        await drawn([3, 2], [-1, 1], group + 20),
        await drawn(group % 3 === 0 ? [2, 1] : [1], [0.5, 1], group + 40),
        await drawn([4, 3], [-1, 1], group + 60),
      ];
      await expectDerivatives(f, inputs);
    });
  });

  describe('data of other kinds', () => {
    it('rows of 16 bits, host data beside them, and arguments of a described reduction', async () => {
      const x = await (await points()).cast('float16');
      const rows = [
        [0.5, 1, 2],
        [1, -1, 0],
      ];
      const of = lazyI({ position: 0, dim: 3 })
        .sqdist(lazyJ({ position: 1, dim: 3 }))
        .neg()
        .exp()
        .reduction('Sum', 'j');
      const f = (v: AnyTensor<'float16'>) => of.call([v, rows]).sum();
      const found = await grad(f)(x);
      expect([found.dtype, found.shape]).toEqual(['float16', [5, 3]]);
      const exact = await x.cast('float64');
      const wanted = await grad((v: Tensor) => of.call([v, rows]).sum())(exact);
      expectClose(await found.toTypedArray(), await wanted.toTypedArray(), 2 ** -10);
    });

    it('no rows', async () => {
      const [x, none] = [
        await points(),
        await tensor(new Float64Array(0), { shape: [0, 3], device: device() }),
      ];
      const f = (v: Tensor, w: Tensor) => gaussian(v, w).sum('j').sum();
      const [byX, byNone] = await grad(f, { argnums: [0, 1] })(x, none);
      expect(await byX.toNested()).toEqual(new Array(5).fill([0, 0, 0]));
      expect(byNone.shape).toEqual([0, 3]);
    });

    it.each([3, 100])('weights of a histogram of %i bins', async (bins) => {
      const y = await others();
      const f: Scalar = (x, w) => {
        const distance = lazyI(x).sqdist(lazyJ(y));
        return weighed(distance.histogram('j', { bins, range: [0, 9], weight: lazyJ(w) }));
      };
      await expectDerivatives(f, [await points(), await drawn([4, 1], [0, 1], 3)]);
    });

    it('checkpoints and values that f disposes', async () => {
      const y = await others();
      const layer = checkpoint((v: AnyTensor) =>
        gaussian(v as Tensor, y)
          .mul(lazyJ(y))
          .sum('j'),
      );
      const f: Scalar = async (x) => {
        const moved = await x.sin();
        const sums = await layer(moved);
        moved.dispose();
        return weighed(layer(sums) as PromiseLike<Tensor>);
      };
      await expectDerivatives(f, [await points()], 1);
    });
  });

  describe('what is refused or kept', () => {
    const refused = (what: string): unknown =>
      expect.objectContaining({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining(what) as string,
      });

    it('results into tensors that exist, prepared calls and values at pairs that were found', async () => {
      const [x, y] = [await points(), await others()];
      const out = await drawn([5, 1], [0, 1]);
      const into = grad((v: Tensor) => gaussian(v, y).sum('j', { out }).sum());
      await expect(into(x)).rejects.toThrow(refused('sum: the option out overwrites a tensor'));
      const ready = grad(async (v: Tensor) => {
        const run = await gaussian(v, y).reduction('Sum', 'j').prepare();
        return run([]).sum();
      });
      await expect(ready(x)).rejects.toThrow(refused('Sum.prepare'));
      const arguments_ = grad(async (v: Tensor) => {
        const of = lazyI({ position: 0, dim: 3 }).sqdist(lazyJ(y)).reduction('Sum', 'j');
        const run = await of.prepare([x]);
        return run([v]).sum();
      });
      await expect(arguments_(x)).rejects.toThrow(refused('Sum: argument 0'));
      const found = grad(async (v: Tensor) => {
        const values = lazyI(v).sqdist(lazyJ(y));
        return (await values.lt(1).nonzero('j', { values })).values as Tensor;
      });
      await expect(found(x)).rejects.toThrow(refused('nonzero'));
    });

    it('a tensor that a reduction reads, written before the gradient is computed', async () => {
      const [x, y] = [await points(), await others()];
      const f = async (v: Tensor): Promise<AnyTensor> => {
        const sums = await gaussian(v, y).sum('j');
        await y.fill(1);
        return sums.sum();
      };
      await expect(grad(f)(x)).rejects.toThrow(expect.objectContaining({ code: 'MODIFIED' }));
    });

    it('no memory', async () => {
      const [x, y] = [await points(), await others()];
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 300; k++) {
          const f = (v: Tensor) => gaussian(v, y).log().logSumExp('j').square().sum();
          const { value, grad: slope } = await valueAndGrad(f)(x);
          value.dispose();
          slope.dispose();
        }
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
