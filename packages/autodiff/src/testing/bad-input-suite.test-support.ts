import { tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../test/code-of.mjs';
import {
  checkGradients,
  checkpoint,
  customJvp,
  customVjp,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  linearize,
  prepare,
  scan,
  stopGradient,
  valueAndGrad,
  vjp,
  vmap,
} from '../index.js';

type Unary = (v: Tensor) => PromiseLike<Tensor> | Tensor;

/** What a transform computes of a function at a point: derivatives too, where they are taken later. */
type Transform = (f: Unary, x: Tensor) => Promise<unknown>;

/** A change or a cotangent like a tensor. */
const like = (x: Tensor): Promise<Tensor> => zeros(x.shape, { device: x.device, dtype: 'float64' });

/** Transforms of functions whose value has one element. */
const OF_SCALARS: Readonly<Record<string, Transform>> = {
  grad: (f, x) => grad(f)(x),
  valueAndGrad: (f, x) => valueAndGrad(f)(x),
  hvp: async (f, x) => hvp(f)(x, await like(x)),
  hessian: (f, x) => hessian(f)(x),
};

const BACKWARDS: Readonly<Record<string, Transform>> = {
  ...OF_SCALARS,
  async vjp(f, x) {
    const { value, pull, dispose } = await vjp(f)(x);
    return pull(await value.clone()).finally(dispose);
  },
  jacobian: (f, x) => jacobian(f)(x),
};

const DERIVATIVES: Readonly<Record<string, Transform>> = {
  ...BACKWARDS,
  jvp: async (f, x) => jvp(async (v: Tensor) => f(v))([x], [await like(x)]),
  async linearize(f, x) {
    const { push, dispose } = await linearize(f)(x);
    return push(await like(x)).finally(dispose);
  },
};

const TRANSFORMS: Readonly<Record<string, Transform>> = {
  ...DERIVATIVES,
  vmap: (f, x) => vmap(async (v: Tensor) => f(v))(x),
  scan: (f, x) => scan(async (carry: Tensor, row: Tensor) => [await f(row), carry], x.slice(0), x),
  checkpoint: (f, x) => grad(checkpoint(f))(x),
  'a rule of cotangents': (f, x) => grad(customVjp(f, (g, { args: [v] }) => [v.mul(g)]))(x),
  'a rule of tangents': (f, x) => grad(customJvp(f, ([t]) => t.sum()))(x),
};

const rows = (table: Readonly<Record<string, Transform>>): [string, Transform][] =>
  Object.entries(table);

/** What transforms refuse, each by its code. */
export function describeBadInput(device: () => Device): void {
  const on = () => ({ device: device() });
  const squares: Unary = (v) => v.square().sum();

  let x: Tensor<'float64'>;

  beforeAll(async () => {
    x = await tensor(Float64Array.of(1, 2, 3), on());
  });

  describe('a loss that is no scalar', () => {
    it.each(rows(OF_SCALARS))('is refused, and vjp named: %s', async (_, run) => {
      const call = run((v) => v.mul(2), x);
      await expect(call).rejects.toMatchObject({
        code: 'NOT_SCALAR',
        message: expect.stringMatching(/gave float64 \[3\].*or use vjp\(\)/) as string,
      });
    });
  });

  describe('what is computed of numbers that were read', () => {
    it.each(rows(OF_SCALARS))('has no gradient: %s', async (_, run) => {
      const call = run(async (v) => tensor(Number(await v.sum().item()), on()), x);
      await expect(call).rejects.toMatchObject({
        code: 'INDEPENDENT',
        message: expect.stringMatching(/^\w+: argument 0: .*Elements were read inside/) as string,
      });
    });

    it('may be a constant of a loss that depends on the variable otherwise', async () => {
      const scaled: Unary = async (v) =>
        v
          .square()
          .sum()
          .mul(Number(await v.slice(0).item()));
      for (const run of Object.values(DERIVATIVES))
        expect(await codeOf(() => run(scaled, x))).toBe('nothing');
    });
  });

  // functions with rules of their own are called with tensors
  const { 'a rule of cotangents': _, 'a rule of tangents': __, ...traced } = TRANSFORMS;
  it.each(rows(traced))('a value that escapes is refused in every use: %s', async (_, run) => {
    const escaped: Tensor[] = [];
    await run(async (v) => {
      const sum = await v.square().sum();
      escaped.push(v, v.mul(2) as never, sum);
      return sum;
    }, x);
    expect(escaped.length).toBeGreaterThan(2);
    for (const one of escaped) {
      const uses: readonly (() => Promise<unknown>)[] = [
        async () => one.add(1),
        async () => one.toNested(),
        async () => one.ready(),
        async () => x.mul(one),
        async () => grad(squares)(one),
      ];
      const codes = await Promise.all(uses.map(codeOf));
      expect(codes).toEqual(uses.map(() => 'ESCAPED'));
    }
  });

  it('a change that escapes from a rule is refused', async () => {
    let escaped: Tensor | undefined;
    const leaky = customJvp(squares, ([t], { args: [v] }) => {
      escaped = t;
      return v.mul(2).mul(t).sum();
    });
    await grad(leaky)(x);
    expect(await codeOf(async () => escaped?.toNested())).toBe('ESCAPED');
    expect(await codeOf(async () => escaped?.mul(2))).toBe('ESCAPED');
  });

  describe('a disposed tensor', () => {
    const gone = async (): Promise<Tensor<'float64'>> => {
      const one = await tensor(Float64Array.of(1, 2, 3), on());
      one.dispose();
      return one;
    };

    it.each([
      ...rows(TRANSFORMS),
      ...rows({
        prepare: (f, v) => prepare(f, v),
        checkGradients: (f, v) => checkGradients(f, [v], {} as never),
        stopGradient: async (_, v) => stopGradient(v),
      }),
    ])('is refused as an argument: %s', async (name, run) => {
      const code = name === 'checkGradients' ? 'INVALID_ARGUMENT' : 'DISPOSED';
      expect(await codeOf(async () => run(squares, await gone()))).toBe(code);
    });

    it.each(rows(TRANSFORMS))('is refused inside the function: %s', async (_, run) => {
      const w = await gone();
      expect(await codeOf(() => run((v) => v.mul(w).sum(), x))).toBe('DISPOSED');
    });

    it('is refused as a change and as a cotangent', async () => {
      const t = await gone();
      const { push } = await linearize(squares)(x);
      const { pull } = await vjp((v: Tensor) => v.square())(x);
      expect(await codeOf(() => push(t))).toBe('DISPOSED');
      expect(await codeOf(() => pull(t))).toBe('DISPOSED');
      expect(await codeOf(() => hvp(squares)(x, t))).toBe('DISPOSED');
      expect(await codeOf(() => jvp(async (v: Tensor) => squares(v))([x], [t]))).toBe('DISPOSED');
    });
  });

  describe('a saved tensor that was written since', () => {
    const WRITES: readonly (readonly [string, (w: Tensor) => PromiseLike<unknown>])[] = [
      ['fill', (w) => w.fill(9)],
      ['copyFrom', (w) => w.copyFrom(x)],
      ['out', (w) => x.mul(2, { out: w })],
      ['a view', (w) => w.slice([0, 1]).fill(9)],
    ];

    it.each(WRITES)('is refused backwards: %s', async (_, write) => {
      for (const run of Object.values(BACKWARDS)) {
        const w = await tensor(Float64Array.of(1, 2, 3), on());
        const f: Unary = async (v) => {
          const sum = await v.mul(w).square().sum();
          await write(w);
          return sum;
        };
        expect(await codeOf(() => run(f, x))).toBe('MODIFIED');
      }
    });

    it.each(WRITES)('is refused where the tangents are taken later: %s', async (_, write) => {
      const w = await tensor(Float64Array.of(1, 2, 3), on());
      const { push, dispose } = await linearize((v: Tensor) => v.mul(w).square().sum())(x);
      await write(w);
      expect(await codeOf(() => push(x))).toBe('MODIFIED');
      dispose();
    });
  });

  describe('a rule of cotangents', () => {
    it.each<readonly [string, string, (g: Tensor) => unknown]>([
      ['none for two arguments', 'INVALID_ARGUMENT', () => []],
      ['one for two arguments', 'INVALID_ARGUMENT', (g) => [g]],
      ['three for two arguments', 'INVALID_ARGUMENT', (g) => [g, g, g]],
      ['no list', 'INVALID_ARGUMENT', (g) => g],
      ['a number', 'INVALID_ARGUMENT', (g) => [1, g]],
      ['another shape', 'SHAPE_MISMATCH', (g) => [g.slice([0, 2]), g]],
      ['a shape that broadcasts', 'SHAPE_MISMATCH', (g) => [g.sum(), g]],
      ['whole numbers', 'DTYPE_MISMATCH', (g) => [g.cast('int32'), g]],
      ['truth values', 'DTYPE_MISMATCH', (g) => [g.gt(0), g]],
    ])('that gives %s is refused: %s', async (_, code, given) => {
      const wrong = customVjp(
        (a: Tensor, b: Tensor) => a.mul(b),
        (g) => given(g) as never,
      );
      const call = grad((v: Tensor) => wrong(v, x).sum())(x);
      await expect(call).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/^customVjp: the rule gave /) as string,
      });
    });

    it('may give nothing for a number, and is refused where it gives something', async () => {
      const of = (second: unknown) =>
        customVjp(
          (a: Tensor, factor: number) => a.mul(factor),
          (g, { args: [, factor] }) => [g.mul(factor), second],
        );
      const run = (second: unknown) => grad((v: Tensor) => of(second)(v, 2).sum())(x);
      expect(await (await run(undefined)).toNested()).toEqual([2, 2, 2]);
      expect(await codeOf(() => run(x))).toBe('INVALID_ARGUMENT');
    });
  });

  describe('an index', () => {
    it.each(rows(BACKWARDS))('has no gradient: %s', async (_, run) => {
      const index = await tensor(Int32Array.of(2, 0, 2), on());
      const truths = x.gt(1);
      expect(await codeOf(() => run((v) => x.take(v as never).sum(), index))).toBe(
        'DTYPE_MISMATCH',
      );
      expect(await codeOf(async () => run((v) => v.where(x, 0).sum(), await truths))).toBe(
        'DTYPE_MISMATCH',
      );
    });
  });

  it.each(rows(TRANSFORMS))('%s takes a function that gives what is awaited, pending, traced or promised', async (_, run) => {
    const results: readonly Unary[] = [
      (v) => v.square().sum(),
      async (v) => await v.square().sum(),
      async (v) => v.square().sum(),
      (v) => v.square().sum().view(),
    ];
    for (const f of results) expect(await codeOf(() => run(f, x))).toBe('nothing');
  }); // prettier-ignore
}
