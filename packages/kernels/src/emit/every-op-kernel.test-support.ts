import type { RealExpr } from '@mercer/formula';
import type { CudaKernel } from '../emitted-kernel.js';
import type { PairwiseDType } from '../dtype.js';
import { emitCudaExpression } from './cuda-expression.js';
import { cudaType } from './literals.js';
import { cudaHelpers, type CudaHelper } from './cuda-math.js';
import { ALL } from './every-op.test-support.js';

const THREADS = 128;

/** A CUDA kernel that applies expression i to pairs of inputs, one row of results each. */
export function everyOpKernel(
  dtype: PairwiseDType,
  approximate = false,
  exprs: readonly RealExpr[] = ALL,
  fastMath = false,
): CudaKernel {
  const type = cudaType(dtype);
  const helpers = new Set<CudaHelper>();
  const functions = exprs.map((expr, i) => {
    const text = emitCudaExpression(expr, {
      dtype,
      bindings: { a: 'x', b: 'y' },
      approximateRoots: approximate,
      approximateExponentials: approximate,
      fastMath,
      uniform: ['p', 'q'],
      positive: ['p'],
    });
    for (const helper of text.helpers) helpers.add(helper);
    const body = [...text.uniformStatements, ...text.statements, `return ${text.result};`];
    return `__device__ ${type} f${i}(${type} x, ${type} y, double p, double q) {
${body.map((line) => `  ${line}`).join('\n')}
}`;
  });
  const source = `${cudaHelpers(helpers, dtype)}
${functions.join('\n')}
extern "C" __global__ void every_op(const ${type}* a, const ${type}* b, ${type}* out, long long n, double p, double q) {
  const long long i = blockIdx.x * ${THREADS}ll + threadIdx.x;
  if (i >= n) return;
  const ${type} x = a[i], y = b[i];
${exprs.map((_, i) => `  out[${i} * n + i] = f${i}(x, y, p, q);`).join('\n')}
}`;
  return {
    dialect: 'cuda',
    name: `every operation ${dtype}`,
    entry: 'every_op',
    source,
    options: [],
    params: [
      { name: 'a', kind: 'pointer', dtype, access: 'read' },
      { name: 'b', kind: 'pointer', dtype, access: 'read' },
      { name: 'out', kind: 'pointer', dtype, access: 'write' },
      { name: 'n', kind: 'scalar', type: 'int64' },
      { name: 'p', kind: 'scalar', type: 'float64' },
      { name: 'q', kind: 'scalar', type: 'float64' },
    ],
    geometry: ({ n = 0 }) => ({
      grid: [Math.ceil(n / THREADS), 1, 1],
      block: [THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
  };
}
