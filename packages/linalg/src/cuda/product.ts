import { enqueueMatmul, type WholeProduct } from '@mercer/cuda-runtime';
import { dtypeBytes } from '@mercer/tensor';
import { enqueueNative, productWorkspace, regionOf } from '@mercer/tensor/cuda';
import type { CudaCall } from './cuda-call.js';
import { at, type Dense } from './scratch.js';

/** c = alpha op(a) op(b) + beta c on dense matrices. */
export interface DenseProduct {
  readonly a: Dense;
  readonly b: Dense;
  readonly c: Dense;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** Default 1. */
  readonly alpha?: number;
  /** Default 0. */
  readonly beta?: number;
}

/** Enqueues the products of a call's matrices, all in one call of cuBLASLt. */
export function multiply({ setting, stream }: CudaCall, product: DenseProduct): void {
  const { a, b, c, transposeA = false, transposeB = false, alpha = 1, beta = 0 } = product;
  const { rows: m, columns: n, count, dtype } = c;
  const k = transposeA ? a.rows : a.columns;
  if (m * n * k * count === 0) return;
  const strided = (x: Dense): WholeProduct['a'] => ({
    byteOffset: 0,
    ...at(x, 0),
    batchStride: x.rows * x.columns,
  });
  using workspace = productWorkspace(stream, dtypeBytes(dtype) * m * n * count, k);
  const reads = [a.storage, b.storage];
  const writes = workspace === undefined ? [c.storage] : [c.storage, workspace];
  const touched = { reads, writes, tellsMemory: true };
  enqueueNative(stream, { what: setting.what, ...touched }, ({ stream: native }) => {
    enqueueMatmul(native, {
      dtype,
      m,
      n,
      k,
      batch: count,
      transposeA,
      transposeB,
      alpha,
      beta,
      a: strided(a),
      b: strided(b),
      c: undefined,
      d: strided(c),
      outDtype: undefined,
      compute: undefined,
      order: undefined,
      workspace: workspace && regionOf(workspace),
    });
  });
}
