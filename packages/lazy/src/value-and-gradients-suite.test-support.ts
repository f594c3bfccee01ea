import type { ReductionKind } from '@mercer/formula';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  genred,
  gradient,
  LazyError,
  lazyI,
  lazyJ,
  param,
  valueAndGradients,
  withGradients,
  type LazyReduction,
} from './index.js';
import { byName } from './reductions-suite.test-support.js';
import { numbers, upload, type Numbers } from './reference.test-support.js';

const [M, N, B] = [4, 7, 3];

const at = ({ values }: Numbers, place: number): number => values[place] ?? NaN;

/** `sum_j exp(-s |x_i - y_j|^2)` in one dimension with its derivatives, weighted by e, in float64 and by loops. */
function gaussianTruth(x: Numbers, y: Numbers, s: Numbers, e: Numbers): Float64Array[] {
  const [value, byX, byY, byS] = [B * M, B * M, N, 1].map((size) => new Float64Array(size)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (let i = 0; i < B * M; i++) {
    for (let j = 0; j < N; j++) {
      const difference = at(x, i) - at(y, j);
      const term = Math.exp(-at(s, 0) * difference ** 2);
      const weighted = at(e, i) * term;
      value[i]! += term;
      byX[i]! -= 2 * at(s, 0) * difference * weighted;
      byY[j]! += 2 * at(s, 0) * difference * weighted;
      byS[0]! -= difference ** 2 * weighted;
    }
  }
  return [value, byX, byY, byS];
}

async function expectNear(found: Tensor<'float64'>, wanted: ArrayLike<number>): Promise<void> {
  const values = await found.toTypedArray();
  expect(values).toHaveLength(wanted.length);
  for (let place = 0; place < wanted.length; place++) {
    expect(values[place]).toBeCloseTo(wanted[place] ?? NaN, 12);
  }
}

/** A reduction with its gradients gives what each gives alone, in as few passes as there can be. */
export function describeValueAndGradients(device: () => Device): void {
  describe('valueAndGradients', () => {
    const data = [
      numbers(1, M, 1, { batch: [B] }),
      numbers(2, N, 1),
      numbers(3, 1, 1, { low: 0.5 }),
      numbers(4, M, 1, { batch: [B] }),
    ] as const;

    it('of a sum: by variables of both sides and parameters, with batch axes', async () => {
      const [x, y, s, e] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const [a, b, c] = [lazyI(x!), lazyJ(y!), param(s!.reshape([1]), { name: 's' })];
      const sum = a.sqdist(b).mul(c).neg().exp().reduction('Sum', 'j');
      const { value, gradients } = await valueAndGradients(
        sum,
        { a, b, c: 's' },
        { cotangent: e! },
      );
      expect([value, gradients.a, gradients.b, gradients.c].map(({ shape }) => shape)).toEqual([
        [B, M, 1],
        [B, M, 1],
        [N, 1],
        [1],
      ]);
      const wanted = gaussianTruth(...data);
      for (const [place, found] of [value, gradients.a, gradients.b, gradients.c].entries()) {
        await expectNear(found, wanted[place] ?? []);
      }
      // The cotangent is 1 where there is none.
      const ones = { ...data[3], values: new Float64Array(B * M).fill(1) };
      const plain = await valueAndGradients(sum, { a });
      await expectNear(plain.gradients.a, gaussianTruth(data[0], data[1], data[2], ones)[1] ?? []);
    });

    it.each<[ReductionKind, 'i' | 'j']>([
      ['Mean', 'i'],
      ['LogSumExp', 'j'],
      ['KMin', 'i'],
      ['MinArgMin', 'j'],
    ])('of %s over %s: what the reduction and gradient give', async (kind, axis) => {
      const [x, y] = await Promise.all(
        data.slice(0, 2).map((one) => upload(one, 'float64', device())),
      );
      const [a, b] = [lazyI(x!), lazyJ(y!)];
      const of: LazyReduction<ReductionKind, 'float64'> = a
        .sqdist(b)
        .reduction(kind, axis, kind === 'KMin' ? { k: 2 } : {});
      const cotangent = await upload(
        numbers(5, axis === 'j' ? M : N, of.dim, { batch: [B] }),
        ...(['float64', device()] as const),
      );
      const found = await valueAndGradients(of, { a, b }, { cotangent });
      const alone = byName(await of.call());
      for (const [name, one] of Object.entries(byName(found.value))) {
        expect(await one.toNested()).toEqual(await alone[name as 'value' | 'index']?.toNested());
      }
      await expectNear(found.gradients.a, await (await gradient(of, a, cotangent)).toTypedArray());
      await expectNear(found.gradients.b, await (await gradient(of, b, cotangent)).toTypedArray());
    });

    it('keeps nothing of a call that failed', async () => {
      const x = lazyI(await tensor([[1], [2]], { device: device() }));
      const of = x.mul(lazyJ([[1], [2]])).reduction('ArgMin', 'j');
      const kept = await memoryKept(device(), async () => {
        await expect(valueAndGradients(of, { x })).rejects.toThrow(/differentiate a ArgMin/);
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });

  describe('withGradients', () => {
    it('is one pass, called later and synchronously, with a cotangent that is a placeholder', async () => {
      const inputs = ['x = Vi(1)', 'y = Vj(1)', 's = Pm(1)', 'e = Vi(1)'];
      const of = genred('Exp(-s * SqDist(x, y))', inputs, { axis: 'j' }).reduction;
      const e = lazyI({ position: 3, dim: 1 });
      const joint = withGradients(of, { byX: 'x' }, e);
      const data = [
        numbers(1, M, 1, { batch: [B] }),
        numbers(2, N, 1),
        numbers(3, 1, 1, { low: 0.5 }),
        numbers(4, M, 1, { batch: [B] }),
      ] as const;
      const [x, y, s, seed] = await Promise.all(
        data.map((one) => upload(one, 'float64', device())),
      );
      const args = [x!, y!, s!.reshape([1]), seed!];
      const prepared = await joint.prepare(args);
      expect(prepared.plans).toHaveLength(1);
      const wanted = gaussianTruth(...data);
      for (const { value, byX } of [await joint.call(args), prepared(args)]) {
        await expectNear(value as Tensor<'float64'>, wanted[0] ?? []);
        await expectNear(byX as Tensor<'float64'>, wanted[1] ?? []);
      }
    });

    const [x, y] = [lazyI([[1], [2]], { name: 'x' }), lazyJ([[1]], { name: 'y' })];
    const sum = x.mul(y).reduction('Sum', 'j');
    it.each<[string, () => unknown, RegExp]>([
      [
        'a variable of the other side',
        () => withGradients(sum, { y }),
        /y .*not of i.*valueAndGradients/,
      ],
      [
        'a parameter',
        () => withGradients(x.mul(param(2, { name: 'p' })).reduction('Sum', 'j'), { p: 'p' }),
        /p .*not of i/,
      ],
      ['what is no variable', () => withGradients(sum, { x: x.exp() }), /is no variable/],
      ['what is no input', () => withGradients(sum, { x: 'z' }), /z is no input.*x \(i-variable/],
      ["the name 'value'", () => withGradients(sum, { value: x }), /called 'value'/],
      [
        'a cotangent of the other side',
        () => withGradients(sum, { x }, y),
        /cotangent has y .*make it of i/,
      ],
      [
        'a maximum',
        () => withGradients(x.reduction('Max', 'j') as never, { x }),
        /is Max\..*valueAndGradients/,
      ],
    ])('refuses %s', (_, run, says) => {
      expect(run).toThrow(LazyError);
      expect(run).toThrow(says);
    });
  });
}
