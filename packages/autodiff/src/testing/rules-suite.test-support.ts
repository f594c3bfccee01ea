import {
  add,
  atan2,
  concat,
  div,
  flip,
  full,
  gatherRows,
  maximum,
  minimum,
  mod,
  pad,
  scatterAdd,
  split,
  stack,
  sumTo,
  tensor,
  tile,
  tril,
  where,
  type Tensor,
  type Device,
} from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  centralDifferences,
  drawnOn,
  expectClose,
  expectGradient,
  type Scalar,
} from '../../test/differences.mjs';
import { grad, hessian, hvp, jvp } from '../index.js';

/** Derivative rules of operations, first and second, against differences. */
export function describeRules(device: () => Device): void {
  const drawn = drawnOn(device);

  type Binary = (x: Tensor, y: Tensor) => PromiseLike<Tensor> | Tensor;
  type Unary = (x: Tensor) => PromiseLike<Tensor> | Tensor;
  type Range = readonly [from: number, to: number];

  /** A value with other weights for each element, so that no error of one is hidden by another's; not linear, so that there is a second order. */
  async function weighed(result: Tensor): Promise<Tensor> {
    const weights = await drawn(result.shape, [0.5, 1.5], 99);
    return result.mul(weights).square().add(result).sum();
  }

  const scalar = (f: (...inputs: Tensor[]) => PromiseLike<Tensor> | Tensor): Scalar => {
    return async (...inputs) => weighed(await f(...inputs));
  };

  const numbers = async (x: Tensor): Promise<number[]> =>
    Array.from(await x.toTypedArray(), Number);

  /** Gradients of float32 against those of the same numbers in float64. */
  async function expectSingle(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
    const gradients = grad(f, { argnums: inputs.map((_, k) => k) });
    const single = await Promise.all(inputs.map((one) => one.cast('float32')));
    const double = await Promise.all(single.map((one) => one.cast('float64')));
    const [found, expected] = [await gradients(...single), await gradients(...double)];
    for (const [by, one] of found.entries()) {
      expect(one.dtype).toBe('float32');
      expectClose(await numbers(one), await numbers(expected[by] as Tensor), 1e-3);
    }
  }

  /** First and second derivatives against differences, and those of float32 against them. */
  async function expectRules(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
    const all = inputs.map((_, k) => k);
    await expectSingle(f, inputs);
    const gradients = await grad(f, { argnums: all })(...inputs);
    for (const by of all) {
      const found = await gradients[by]?.toTypedArray();
      expect(gradients[by]?.shape).toEqual(inputs[by]?.shape);
      await expectGradient(found ?? [], f, inputs, by, 1e-6);
    }
    for (const first of all) {
      const slope: Scalar = async (...given) => {
        const one = await grad(f, { argnums: first })(...given);
        return weighed(one);
      };
      const seconds = await grad(slope, { argnums: all, allowUnused: true })(...inputs);
      for (const by of all) {
        const found = await seconds[by]?.toTypedArray();
        await expectGradient(found ?? [], slope, inputs, by, 1e-5);
      }
    }
  }

  describe('elementwise operations of one tensor', () => {
    const positive: Range = [0.3, 2];
    const any: Range = [-2, 2];
    const inside: Range = [-0.9, 0.9];
    const CASES: readonly (readonly [name: string, range: Range, f: Unary])[] = [
      ['neg', any, (x) => x.neg()],
      ['abs', any, (x) => x.abs()],
      ['sign', any, (x) => x.sign().add(x)],
      ['square', any, (x) => x.square()],
      ['relu', any, (x) => x.relu()],
      ['floor', any, (x) => x.floor().mul(x)],
      ['ceil', any, (x) => x.ceil().mul(x)],
      ['round', any, (x) => x.round().mul(x)],
      ['reciprocal', positive, (x) => x.reciprocal()],
      ['exp', any, (x) => x.exp()],
      ['expm1', any, (x) => x.expm1()],
      ['log', positive, (x) => x.log()],
      ['log2', positive, (x) => x.log2()],
      ['log10', positive, (x) => x.log10()],
      ['log1p', positive, (x) => x.log1p()],
      ['sqrt', positive, (x) => x.sqrt()],
      ['rsqrt', positive, (x) => x.rsqrt()],
      ['sin', any, (x) => x.sin()],
      ['cos', any, (x) => x.cos()],
      ['tan', inside, (x) => x.tan()],
      ['asin', inside, (x) => x.asin()],
      ['acos', inside, (x) => x.acos()],
      ['atan', any, (x) => x.atan()],
      ['sinh', any, (x) => x.sinh()],
      ['cosh', any, (x) => x.cosh()],
      ['tanh', any, (x) => x.tanh()],
      ['erf', any, (x) => x.erf()],
      ['erfc', any, (x) => x.erfc()],
      ['sigmoid', any, (x) => x.sigmoid()],
      ['softplus', any, (x) => x.softplus()],
      ['gelu', any, (x) => x.gelu()],
      ['pow 3', any, (x) => x.pow(3)],
      ['pow -2', positive, (x) => x.pow(-2)],
      ['pow 1.7', positive, (x) => x.pow(1.7)],
      ['pow 0', any, (x) => x.pow(0).add(x)],
      ['clamp', any, (x) => x.clamp(-0.5, 1.2)],
      ['mod a number', any, (x) => x.mod(0.7).mul(x)],
      ['a number less it', any, (x) => x.neg().add(3).div(2)],
      ['where', any, (x) => where(x.gt(0), x.sin(), x.mul(3))],
      ['comparisons', any, (x) => x.gt(0).mul(x).add(x.isNaN())],
      ['cast', any, (x) => x.mul(x.cast('float64'))],
    ];

    it.each(CASES)('%s', async (_, range, f) => {
      const x = await drawn([7], range, 3);
      await expectRules(scalar(f), [x]);
    });

    it.each(CASES)('%s of an empty axis', async (_, range, f) => {
      const x = await drawn([0, 3], range);
      const loss = scalar(f);
      expect((await grad(loss)(x)).shape).toEqual([0, 3]);
      expect((await hvp(loss)(x, x)).shape).toEqual([0, 3]);
    });
  });

  describe('elementwise operations of two tensors', () => {
    const CASES: readonly (readonly [name: string, f: Binary])[] = [
      ['add', (x, y) => add(x, y)],
      ['sub', (x, y) => x.sub(y)],
      ['mul', (x, y) => x.mul(y)],
      ['div', (x, y) => div(x, y)],
      ['pow', (x, y) => x.pow(y)],
      ['mod', (x, y) => mod(x.mul(3), y)],
      ['atan2', (x, y) => atan2(x, y)],
      ['minimum', (x, y) => minimum(x, y)],
      ['maximum', (x, y) => maximum(x, y)],
      ['where', (x, y) => where(x.gt(y), x.mul(y), y.exp())],
    ];
    const SHAPES: readonly (readonly [x: readonly number[], y: readonly number[]])[] = [
      [
        [3, 2],
        [3, 2],
      ],
      [[2], [3, 1]],
      [[3, 1, 2], []],
    ];
    const cases = CASES.flatMap(([name, f]) =>
      SHAPES.map(([x, y]) => [name, `[${x.join()}]`, `[${y.join()}]`, f, x, y] as const),
    );

    it.each(cases)('%s of %s and %s', async (_name, _x, _y, f, x, y) => {
      const inputs = [await drawn(x, [0.4, 2], 5), await drawn(y, [0.5, 1.8], 11)];
      await expectRules(
        scalar((...[a, b]) => f(a as Tensor, b as Tensor)),
        inputs,
      );
    });

    it('of one tensor twice', async () => {
      const x = await drawn([4], [0.4, 2], 5);
      await expectRules(
        scalar((a) => a.mul(a).pow(a)),
        [x],
      );
    });
  });

  describe('reductions', () => {
    const CASES: readonly (readonly [name: string, f: Unary])[] = [
      ['sum', (x) => x.sum()],
      ['sum of an axis', (x) => x.sum(1)],
      ['sum of axes that stay', (x) => x.sum([0, -1], { keepDims: true })],
      ['mean', (x) => x.mean(0)],
      ['prod', (x) => x.prod()],
      ['prod of axes', (x) => x.prod([0, 2])],
      ['prod of an axis', (x) => x.prod(1, { keepDims: true })],
      ['min', (x) => x.min(1)],
      ['max', (x) => x.max()],
      ['var', (x) => x.var(-1)],
      ['var of a sample', (x) => x.var([0, 1], { correction: 1, keepDims: true })],
      ['std', (x) => x.std(1, { correction: 1 })],
      ['norm', (x) => x.norm()],
      ['norm 1', (x) => x.norm(0, { ord: 1 })],
      ['norm 3', (x) => x.norm(1, { ord: 3 })],
      ['norm Infinity', (x) => x.norm(1, { ord: Infinity })],
      ['logSumExp', (x) => x.logSumExp(1)],
      ['logSumExp of all', (x) => x.logSumExp()],
      ['softmax', (x) => x.softmax()],
      ['softmax of an axis', (x) => x.softmax(0)],
      ['logSoftmax', (x) => x.logSoftmax(1)],
      ['sumTo', (x) => sumTo(x as Tensor<'float64'>, [3, 1])],
      ['arg and truth', (x) => x.mul(x.argMax(0)).add(x.any())],
    ];

    it.each(CASES)('%s', async (_, f) => {
      const x = await drawn([2, 3, 2], [-1.5, 1.5], 17);
      await expectRules(
        scalar((one) => f(one)),
        [x],
      );
    });

    it('logSumExp at infinities: none has a share where all are -Infinity, and an infinite one has no slope', async () => {
      const [inf, x] = [Infinity, await tensor(
        [
          [-Infinity, -Infinity],
          [-Infinity, 1],
          [1, Infinity],
          [0, 0],
        ],
        { device: device(), dtype: 'float64' },
      )]; // prettier-ignore
      expect(await x.logSumExp(1).toNested()).toEqual([-inf, 1, inf, Math.log(2)]);
      const weights = [
        [0, 0],
        [0, 1],
        [0, NaN],
        [0.5, 0.5],
      ];
      const slope = await grad((v: Tensor) => v.logSumExp(1).sum())(x);
      expect(await slope.toNested()).toEqual(weights);
      const ones = await full([4, 2], 1, { device: device(), dtype: 'float64' });
      const { tangent } = await jvp(async (v: Tensor) => v.logSumExp(1))([x], [ones]);
      expect(await tangent.toNested()).toEqual([0, 1, NaN, 1]);
      const finite = x.slice([1, 2]);
      const second = await hessian((v: Tensor) => v.logSumExp())(finite);
      // a share of 0 times a negative difference is -0
      expect((await numbers(second)).map(Math.abs)).toEqual([0, 0, 0, 0]);
    });

    it.each([1, 2, 3, Infinity])(
      'norm %d at 0: both slopes are 0 there, and others stay',
      async (ord) => {
        const rows = [
          [0, 0, 0],
          [0, 3, -4],
        ];
        const x = await tensor(rows, { device: device(), dtype: 'float64' });
        const f = (v: Tensor): PromiseLike<Tensor> => v.norm(1, { ord }).sum();
        // of the second row from differences, where the first stays
        const second = (v: Tensor): PromiseLike<Tensor> => v.norm(0, { ord });
        const own = await tensor(Float64Array.of(0, 3, -4), { device: device() });
        const isSmooth = ord === 2 || ord === 3;
        const expected = isSmooth
          ? await centralDifferences(second, [own], 0)
          : ord === 1
            ? [0, 1, -1]
            : [0, 0, -1];
        expectClose(await numbers(await grad(f)(x)), [0, 0, 0, ...expected], 1e-9);
        const matrix = await numbers(await hessian(f)(x));
        const ofRow = (k: number): number[] => [3, 4, 5].map((l) => matrix[(k + 3) * 6 + l] ?? NaN);
        const size = { 2: 5, 3: Math.cbrt(27 + 64) }[ord] ?? 1;
        const r = [0, 3, -4];
        for (const [k, a] of r.entries()) {
          // d^2 |r|_p = (p - 1) (|a|^(p-2) delta / y^(p-1) - |a|^(p-1) s |b|^(p-1) t / y^(2p-1))
          const row = r.map((b, l) => {
            if (!isSmooth) return 0;
            const diagonal = k === l ? Math.abs(a) ** (ord - 2) / size ** (ord - 1) : 0;
            const product = Math.sign(a) * Math.sign(b) * Math.abs(a * b) ** (ord - 1);
            return (ord - 1) * (diagonal - product / size ** (2 * ord - 1));
          });
          expectClose(ofRow(k), row, 1e-12);
        }
        const zeros = matrix.filter((_, at) => at < 18 || at % 6 < 3);
        expectClose(
          zeros,
          zeros.map(() => 0),
          0,
        );
      },
    );

    it('prod with zeros', async () => {
      const x = await tensor(
        [
          [0, 2, 3],
          [0, 0, 5],
        ],
        { device: device(), dtype: 'float64' },
      );
      await expectRules(
        scalar((one) => one.prod(1)),
        [x],
      );
    });
  });

  describe('shapes', () => {
    const CASES: readonly (readonly [name: string, f: Unary])[] = [
      ['reshape', (x) => x.reshape([4, -1])],
      ['reshape of a result', (x) => x.square().reshape([12])],
      ['transpose', (x) => x.transpose()],
      ['permute', (x) => x.permute([2, 0, -2])],
      ['reshape of a permuted copy', (x) => x.permute([1, 2, 0]).contiguous().reshape([12])],
      ['slice', (x) => x.slice(1)],
      ['slices with steps', (x) => x.slice(null, [null, null, -2], [0, 1])],
      ['slices that overlap', (x) => x.slice(null, [0, 2]).mul(x.slice(null, [1, 3]))],
      ['split', (x) => split(x, 3, 1)[1] as Tensor],
      ['split, all parts', (x) => concat(split(x, [1, 2], -2).toReversed(), 1)],
      ['flip', (x) => flip(x, [0, 2])],
      ['broadcastTo', (x) => x.broadcastTo([2, 2, 3, 2])],
      ['view and clone', (x) => x.view().mul(x.clone())],
      ['to', (x) => x.to(device())],
      ['concat', (x) => concat([x, x.square(), x], -1)],
      ['stack', (x) => stack([x, x.exp()], -1)],
      ['take', (x) => x.take([2, 0, -1, 2], 1)],
      ['take of all elements', (x) => x.take([[0], [11], [-1]])],
      [
        'takeAlongAxis',
        (x) =>
          x.takeAlongAxis(
            [
              [
                [1, 0],
                [0, 0],
                [-1, 1],
              ],
            ],
            2,
          ),
      ],
      [
        'takeAlongAxis of what is computed',
        (x) => x.takeAlongAxis(x.argMax(1, { keepDims: true }), 1),
      ],
      ['cumSum', (x) => x.cumSum(1)],
      ['topK', async (x) => (await x.topK(2, 1)).values],
      ['sort', (x) => x.sort(1, { descending: true })],
      ['argSort', (x) => x.takeAlongAxis(x.argSort(0), 0)],
      ['index', (x) => x.index([[0, 1, 0], null])],
      [
        'index along two axes',
        (x) =>
          x.square().index([
            [[0], [1]],
            [2, 0, -1],
          ]),
      ],
      ['index by a mask of two axes', (x) => x.square().index([x.slice(null, null, 0).gt(0.1), 0])],
      ['index of ranges', (x) => x.square().index([[1, 0, 1], { start: 1 }, [0, -1, 0]])],
      ['unique', async (x) => (await x.unique()).values],
      ['compress', (x) => x.square().compress(x.gt(0.1))],
      ['compress along an axis', (x) => x.compress(x.slice(0, null, 0).isFinite(), 1)],
      ['tile', (x) => tile(x, [2, 1, 3])],
      ['tile with leading axes', (x) => tile(x, [2, 1, 1, 2])],
      [
        'pad',
        (x) =>
          pad(
            x,
            [
              [1, 0],
              [0, 2],
              [1, 1],
            ],
            { value: 3 },
          ),
      ],
      ['tril', (x) => tril(x, -1)],
      ['triu', (x) => x.triu(1)],
      ['diagonals', (x) => x.slice(0).diag(1)],
      ['a diagonal below', (x) => x.slice(0).diag(-1)],
      ['a matrix of a diagonal', (x) => x.slice(0, 0).diag(-2)],
    ];

    it.each(CASES)('%s', async (_, f) => {
      const x = await drawn([2, 3, 2], [-1.5, 1.5], 23);
      await expectRules(
        scalar((one) => f(one)),
        [x],
      );
    });
  });

  describe('elements by index', () => {
    it.each(['float32', 'float16', 'bfloat16'] as const)(
      '%s are taken several times',
      async (dtype) => {
        const x = await tensor([1, 2, 3], { dtype, device: device() });
        const weights = await tensor([1, 2, 4], { dtype, device: device() });
        const gradient = await grad((one: Tensor) => one.take([2, 0, -1], 0).mul(weights).sum())(x);
        expect(await gradient.toNested()).toEqual([2, 0, 5]);
      },
    );
  });

  describe('rows by index', () => {
    let index: Tensor<'int32'>;

    beforeAll(async () => {
      index = await tensor(Int32Array.of(2, 0, 2), { device: device() });
    });

    it('gatherRows and scatterAdd', async () => {
      const x = await drawn([3, 2], [-1, 1], 29);
      await expectRules(
        scalar((one) => gatherRows(one, index)),
        [x],
      );
      await expectRules(
        scalar((one) => scatterAdd(one as Tensor<'float64'>, index, 4)),
        [x],
      );
    });

    it.each(['int32', 'int64'] as const)(
      'scatterAdd has no gradient by rows that it leaves out: %s',
      async (dtype) => {
        const outside = await tensor([0, -1, 9], { device: device(), dtype });
        const squares = async (one: Tensor): Promise<Tensor> =>
          (await scatterAdd(one as Tensor<'float64'>, outside, 2)).square().sum();
        const x = await tensor(Float64Array.of(1, 2, 3, 4, 5, 6), {
          device: device(),
          shape: [3, 2],
        });
        const gradient = await grad(squares)(x);
        expect(await gradient.toNested()).toEqual([
          [2, 4],
          [0, 0],
          [0, 0],
        ]);
        const product = await hvp(squares)(x, x);
        expect(await product.toNested()).toEqual(await gradient.toNested());
      },
    );
  });
}
