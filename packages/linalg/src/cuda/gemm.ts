import { zeros, type Storage } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { Setting } from '../checks.js';
import { matrixOperand, type MatrixOperand } from '../operand.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall, Within } from './cuda-call.js';
import { enqueueProduct } from './gemm/enqueue-product.js';
import { enqueueSplitProduct, type SplitProduct } from './gemm/enqueue-split-product.js';
import { readable, writable } from './gemm/library-operand.js';
import { productWorkspace } from './gemm/workspace.js';

type GemmCall = CudaCall<FieldsOf<'gemm'>>;

/** c = alpha a b + beta c by cuBLASLt, which only enqueues, in the operands' dtype. */
export const gemm = (call: GemmCall): Promise<void> => run(call, enqueueProduct);

/** The same for float32 on tensor cores, with operands rounded to 11 bits. */
export const gemmTf32 = (call: GemmCall): Promise<void> =>
  run(call, (setting, within, product, workspace) =>
    enqueueProduct(setting, within, { ...product, compute: 'tf32' }, workspace),
  );

/** The same for float32 on tensor cores, to float32's accuracy. Needs memory for the factors' parts. */
export const gemmTf32x3 = (call: GemmCall): Promise<void> => run(call, enqueueSplitProduct);

/** Enqueues a product of operands that the library takes. */
type Enqueue = (
  setting: Setting,
  within: Within,
  product: SplitProduct,
  workspace: Storage | undefined,
) => Promise<void>;

/**
 * Operands without a contiguous axis are copied first, and a result without one is computed beside its memory. As in BLAS, a
 * and b are not read where alpha is 0, nor c where beta is.
 */
async function run(call: GemmCall, enqueue: Enqueue): Promise<void> {
  const { setting, stream, args } = call;
  const { a, b, c } = given(args);
  const { alpha, beta } = args;
  if (c.rows === 0 || c.columns === 0 || setting.batchShape.includes(0)) return;
  if (a.columns === 0 || alpha === 0) {
    await scale(call, c, beta);
    return;
  }
  using target = await writable(setting, c, beta !== 0, call);
  using left = await readable(setting, a, call);
  using right = await readable(setting, b, call);
  using workspace = productWorkspace(stream);
  const product = { a: left.operand, b: right.operand, c: target.operand, alpha, beta };
  await enqueue(setting, call, product, workspace);
  await target.commit();
}

/** c = beta c, for sums without a term. */
async function scale(call: GemmCall, c: MatrixOperand, beta: number): Promise<void> {
  const { setting } = call;
  if (beta === 1) return;
  if (beta === 0) {
    using target = c.view();
    await target.fill(0, workOf(call));
    return;
  }
  const { dtype, device, batchShape } = setting;
  using left = await zeros([c.rows, 1], { dtype, device, ...workOf(call) });
  using right = await zeros([1, c.columns], { dtype, device, ...workOf(call) });
  const [a, b] = [left, right].map((factor) => matrixOperand(factor, batchShape));
  await gemm({ ...call, args: { a, b, c, alpha: 1, beta } });
}

/** The matrices of a call, which always has them. */
function given({ a, b, c }: GemmCall['args']): Record<'a' | 'b' | 'c', MatrixOperand> {
  if (a === undefined || b === undefined || c === undefined) {
    throw new TypeError('a product without one of its matrices');
  }
  return { a, b, c };
}
