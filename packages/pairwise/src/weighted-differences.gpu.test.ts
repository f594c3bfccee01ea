import { emitCdistGrad, normDerivative, planCdistGrad } from '@mercer/kernels';
import { devices, empty, tensor, zeros, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import { referenceElement } from './weighted-differences-reference.test-support.js';
import { describeWeightedDifferences } from './weighted-differences-suite.test-support.js';
import { weightedDifferences } from './index.js';
import { expectLevelMemory } from './memory-level.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('weightedDifferences on a GPU: no device');

for (const gpu of gpus) {
  describe(`weightedDifferences on ${gpu.id}`, () => {
    describeWeightedDifferences(() => gpu, { points: 1000 });

    it.each(['fma', 'mma'] as const)('%s holds the bound over long sums', async (strategy) => {
      const [m, n, o, k] = [64, 40, 16, 4096];
      const parts = { a: [k, m], b: [n, k], c: [o, k], d: [n, m] } as const;
      for (const [p, oneSign] of [
        [1, false],
        [1.3, false],
        [2, false],
        [2, true],
      ] as const) {
        const make = ([rows, columns]: readonly [number, number], seed: number) => {
          const values = normalValues(rows * columns, seed);
          return {
            batch: 1,
            rows,
            columns,
            values: oneSign ? values.map((x) => (seed === 4 ? 5 : 0) + Math.abs(x)) : values,
          };
        };
        const operands = {
          a: make(parts.a, 1),
          b: make(parts.b, 2),
          c: make(parts.c, 3),
          d: make(parts.d, 4),
        };
        const actual = await run(gpu, strategy, p, operands);
        let worst = 0;
        for (let i = 0; i < actual.length; i += 31) {
          const place = [0, Math.floor(i / m / n), Math.floor(i / m) % n, i % m] as const;
          const { value, bound } = referenceElement(operands, place, p);
          worst = Math.max(worst, Math.abs((actual[i] ?? NaN) - value) / (bound * 2 ** -24));
        }
        console.log(`${strategy} p=${p}: ${worst.toFixed(3)} of the bound`);
        expect(worst).toBeLessThan(1);
      }
    });

    it('keeps device memory level over many calls', { timeout: 120_000 }, async () => {
      const a = await zeros([64, 64], { dtype: 'float32', device: gpu });
      const call = await weightedDifferences.prepare(a, a, a, a, { p: 2 });
      await expectLevelMemory(gpu, 2000, () => {
        call(a, a, a, a).dispose();
      });
    });
  });
}

type Operands = Parameters<typeof referenceElement>[0];

/** Runs one strategy of the kernels, whatever the plan would have been. */
async function run(
  gpu: Device,
  strategy: 'fma' | 'mma',
  p: number,
  operands: Operands,
): Promise<Float32Array> {
  const { a, b, c } = operands;
  const [m, n, o, k] = [a.columns, b.rows, c.rows, a.rows];
  const plan = planCdistGrad(
    {
      ...({ dtype: 'float32', m, n, o, k, batch: 1, p } as const),
      phi: normDerivative(p === 1.3 ? 'runtime' : p),
      alignedA: true,
      alignedB: true,
      alignedC: true,
      alignedOut: true,
    },
    gpu.limits,
    { strategy },
  );
  const program = emitCdistGrad(plan);
  const upload = ({ rows, columns, values }: Operands['a']) =>
    tensor(values, { shape: [rows, columns], dtype: 'float32', device: gpu });
  const pointers = [
    ...[await upload(a), await upload(b), await upload(c), await upload(operands.d)],
    ...[empty([o, n, m], { dtype: 'float32', device: gpu }), 0n],
  ];
  const scalars = {
    m,
    n,
    o,
    k,
    batch: 1,
    lda: m,
    ldb: k,
    ldc: k,
    ldd: m,
    ldo: m,
    strideO: n * m,
    batchStrideA: 0,
    batchStrideB: 0,
    batchStrideC: 0,
    batchStrideD: 0,
    batchStrideOut: 0,
    pStride: 0,
    pValue: p,
  };
  const workspace = gpu.allocate(Math.max(4, program.workspaceBytes(scalars)));
  for (const { kernel } of program.steps) {
    const loaded = await gpu.load(kernel);
    const all = kernel.params.at(-1)?.name === 'workspace' ? [...pointers, workspace] : pointers;
    loaded.launch(gpu.defaultStream, { pointers: all, scalars });
  }
  workspace.dispose();
  const out = pointers[4] as Awaited<ReturnType<typeof upload>>;
  return await out.toTypedArray();
}
