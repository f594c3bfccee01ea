import { enqueueMatmul } from '@mercer/cuda-runtime';
import { partsLength, type ProductsConfig } from '@mercer/kernels';
import { enqueueNative, regionOf } from '../cuda/native-work.js';
import { productWorkspace } from '../cuda/product-workspace.js';
import type { Storage } from '../device.js';
import type { CallRoutine, RoutineCall } from '../operation/call-routine.js';

/** Inner products of rows in parts: out[m, n] = a[m] . b[n], in elements from the first ones of the memory. */
export interface ProductsCall {
  /** For messages. */
  readonly what: string;
  readonly config: ProductsConfig;
  readonly m: number;
  readonly n: number;
  readonly offsetA: number;
  readonly offsetOut: number;
  readonly ldo: number;
}

/** Of memory `a` and `b`, parts as `emitCentredParts` writes them, and `out`: TF32 products by cuBLASLt, chunk after chunk. */
export function productsRoutine(call: ProductsCall): CallRoutine {
  const { chunks } = call.config;
  return {
    now: (given) => {
      using workspace = productWorkspace(given.stream, 4 * call.m * call.n, 3 * call.config.chunk);
      for (let chunk = 0; chunk < chunks; chunk++) multiply(call, given, chunk, workspace);
    },
    prepare: () => Promise.resolve(),
    *ready() {
      // the library was found when the call was planned, and nothing else is needed
    },
    *enqueue(given) {
      const { stream, signal } = given;
      using workspace = productWorkspace(stream, 4 * call.m * call.n, 3 * call.config.chunk);
      for (let chunk = 0; chunk < chunks; chunk++) {
        yield { until: () => stream.room({ signal }), isOptional: true };
        multiply(call, given, chunk, workspace);
      }
    },
  };
}

function multiply(
  { what, config, m, n, offsetA, offsetOut, ldo }: ProductsCall,
  { stream, memory: { a, b, out } }: RoutineCall,
  chunk: number,
  workspace: Storage | undefined,
): void {
  if (a === undefined || b === undefined || out === undefined) {
    throw new TypeError('products have not all their memory');
  }
  const [pitch, steps] = [partsLength(config), 3 * config.chunk];
  const at = (memory: typeof a, offset: number, leadingDimension: number) => {
    const { buffer, byteOffset = 0 } = regionOf(memory);
    return { buffer, byteOffset: byteOffset + 4 * offset, leadingDimension, batchStride: 0 };
  };
  const writes = workspace === undefined ? [out] : [out, workspace];
  enqueueNative(stream, { what, reads: [a, b], writes, tellsMemory: true }, (streams) => {
    enqueueMatmul(streams.stream, {
      dtype: 'float32',
      outDtype: undefined,
      compute: 'tf32',
      order: 'row',
      m,
      n,
      k: steps,
      batch: 1,
      transposeA: false,
      transposeB: true,
      alpha: 1,
      beta: chunk === 0 ? 0 : 1,
      a: at(a, offsetA + chunk * steps, pitch),
      b: at(b, chunk * steps, pitch),
      c: undefined,
      d: at(out, offsetOut, ldo),
      workspace: workspace && regionOf(workspace),
    });
  });
}
