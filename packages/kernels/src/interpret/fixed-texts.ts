import { emitFill } from '../elementwise/emit-fill.js';
import { emitSum } from '../elementwise/emit-sum.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { cpuDiagonalKernel } from '../pairwise/cpu-diagonal.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import { emitRowsGradient } from '../pairwise-gradient/rows-gradient.js';
import { cpuRowsKernel } from '../rows/cpu-rows.js';
import { planRows } from '../rows/rows-plan.js';
import { cpuScatterKernels } from '../scatter/default-scatter.js';

const DTYPES: readonly PairwiseDType[] = ['float32', 'float64'];
const BOTH = [false, true] as const;
const LAYOUTS = ['row', 'column'] as const;
const CPU = { kind: 'cpu', level: 'x86-64-v2', cores: 1, l1Bytes: 0, l2Bytes: 0 } as const;

/** Every host kernel whose text depends on a few choices and on no formula. */
export function fixedTexts(): CpuKernel[] {
  return [
    ...sums(),
    ...fills(),
    ...DTYPES.flatMap((dtype) => ofRows(dtype)),
    ...cpuScatterKernels(),
  ];
}

function sums(): CpuKernel[] {
  return DTYPES.flatMap((from) =>
    DTYPES.map((to) => emitSum({ family: 'sum', from, to, mode: 'each' }, 'cpu') as CpuKernel),
  );
}

function fills(): CpuKernel[] {
  return ([1, 2, 4, 8] as const).flatMap((bytes) => [
    emitFill({ family: 'fill', bytes, mode: 'linear', rank: 1 }, 'cpu'),
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((rank) =>
      emitFill({ family: 'fill', bytes, mode: 'strided', rank }, 'cpu'),
    ),
  ]);
}

function ofRows(dtype: PairwiseDType): CpuKernel[] {
  const rows = LAYOUTS.flatMap((layout) =>
    BOTH.flatMap((scale) =>
      BOTH.flatMap((normalise) =>
        BOTH.map((norms) => {
          const problem = { dtype, m: 1, k: 1, batch: 1, layout, scale, normalise, norms };
          return cpuRowsKernel(planRows(problem, CPU));
        }),
      ),
    ),
  );
  const gradients = BOTH.flatMap((normalise) =>
    (['x', 'scale'] as const).flatMap((target) =>
      emitRowsGradient({
        family: 'rows-gradient',
        kind: 'cpu',
        dtype,
        normalise,
        target,
      }).steps.map(({ kernel }) => kernel as CpuKernel),
    ),
  );
  const diagonals = LAYOUTS.flatMap((layoutOut) =>
    (['set', 'add'] as const).map((diagonal) => cpuDiagonalKernel({ dtype, layoutOut, diagonal })),
  );
  return [...rows, ...gradients, ...diagonals];
}
