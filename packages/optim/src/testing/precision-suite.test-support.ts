import { grad, valueAndGrad } from '@mercer/autodiff';
import type { Device, Tensor } from '@mercer/tensor';
import { einsum } from '@mercer/linalg';
import { beforeAll, describe, expect, it } from 'vitest';
import { autocast, functional, layers, losses, withStatistics } from '../index.js';
import {
  drawn,
  expectClose,
  placed,
  sumOf,
  toPlain,
  plain,
  at,
  type Plain,
} from './references.test-support.js';

/** The nearest number with 8 significant bits, or 11. */
function rounded(value: number, dtype: 'bfloat16' | 'float16'): number {
  if (value === 0) return 0;
  const bits = dtype === 'bfloat16' ? 8 : 11;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - bits + 1);
  const steps = value / unit;
  const down = Math.floor(steps);
  const rest = steps - down;
  const up = rest > 0.5 || (rest === 0.5 && down % 2 !== 0);
  return (down + (up ? 1 : 0)) * unit;
}

const roundedAll = ({ shape, data }: Plain, dtype: 'bfloat16' | 'float16'): Plain => ({
  shape,
  data: data.map((one) => rounded(Math.fround(one), dtype)),
});

/** Products with factors of 16 bits. */
export function precisionSuite(name: string, place: () => Device): void {
  describe(`autocast on ${name}`, () => {
    let device: Device;
    let a: Plain;
    let b: Plain;
    beforeAll(async () => {
      device = place();
      a = await drawn(1, [5, 7]);
      b = await drawn(2, [7, 3]);
    });

    const product = (x: Plain, y: Plain): Plain =>
      plain([5, 3], ([i = 0, j = 0]) => sumOf(7, (k) => at(x, i, k) * at(y, k, j)));

    it.each(['bfloat16', 'float16'] as const)(
      'rounds factors to %s, and sums in float32',
      async (dtype) => {
        const wanted = product(roundedAll(a, dtype), roundedAll(b, dtype));
        const [x, y] = [await placed(a, 'float32', device), await placed(b, 'float32', device)];
        const runs = [
          (p: Tensor<'float32'>, q: Tensor<'float32'>) => p.matmul(q),
          (p: Tensor<'float32'>, q: Tensor<'float32'>) => einsum('ik,kj->ij', [p, q]),
          (p: Tensor<'float32'>, q: Tensor<'float32'>) => functional.linear(p, q.transpose()),
          (p: Tensor<'float32'>, q: Tensor<'float32'>) =>
            functional
              .conv1d(p.reshape([5, 7, 1]), q.transpose().reshape([3, 7, 1]))
              .reshape([5, 3]),
        ];
        for (const [at, run] of runs.entries()) {
          const y1 = (await autocast(run as never, { dtype })(x, y)) as Tensor;
          expect(y1.dtype).toBe('float32');
          // summed in float32 on a CPU, in tensor cores on a GPU
          expectClose(await toPlain(y1), wanted, 3e-6, `product ${at}`);
        }
        expect((await toPlain(await x.matmul(y))).data).not.toEqual(wanted.data);
      },
    );

    it('leaves everything else in float32, and float64 as it is', async () => {
      const x = await placed(a, 'float32', device);
      const others = (p: Tensor): unknown => [
        p.mul(p).sum(1),
        layers.layerNorm({ shape: 7 }).apply({}, p),
        losses.mse(p, p.exp()),
        functional.attention(p, p, p),
      ];
      const plainly = others(x) as readonly PromiseLike<Tensor>[];
      const cast = (await autocast(others)(x)) as readonly Tensor[];
      for (const [k, one] of cast.entries())
        expect(await toPlain(one)).toEqual(await toPlain((await plainly[k]) as Tensor));
      const [p, q] = [await placed(a, 'float64', device), await placed(b, 'float64', device)] as [
        Tensor<'float64'>,
        Tensor<'float64'>,
      ];
      const exact = await autocast((u: Tensor<'float64'>, v: Tensor<'float64'>) => u.matmul(v))(
        p,
        q,
      );
      expect(await toPlain(exact)).toEqual(await toPlain(await p.matmul(q)));
    });

    it('is differentiated, inside and outside, with gradients of float32', async () => {
      const layer = layers.linear({ inputs: 7, outputs: 3 });
      const params = {
        weight: (await placed(b, 'float32', device)).transpose(),
        bias: await placed(
          plain([3], ([k = 0]) => k + 1),
          'float32',
          device,
        ),
      };
      const x = await placed(a, 'float32', device);
      const loss = (p: typeof params): Promise<Tensor> => layer.apply(p, x).square().sum();
      const plainly = await grad(loss)(params);
      for (const run of [grad(autocast(loss)), autocast(grad(loss))]) {
        const own = await run(params);
        expect(own.weight.dtype).toBe('float32');
        const [given, wanted] = [await toPlain(own.weight), await toPlain(plainly.weight)];
        expectClose(given, wanted, 2e-2);
        expect(given.data).not.toEqual(wanted.data);
      }
      const { value, statistics } = await withStatistics(autocast(loss))(params);
      expect(await value.item()).toBe(
        await (await valueAndGrad(autocast(loss))(params)).value.item(),
      );
      expect(statistics.map(({ weight, bias, inputs }) => [weight, bias, inputs.dtype])).toEqual([
        ['weight', 'bias', 'bfloat16'],
      ]);
    });
  });
}
