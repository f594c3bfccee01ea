import { own } from '@mercer/options';
import type { Device } from '@mercer/tensor';
import { pointerAt } from '@mercer/tensor/operation';
import { readableFactor, writableResult } from './cuda/gemm.js';
import { hostRoutine } from './cuda/host/host-routine.js';
import type { PlannedMatrix } from './operand.js';
import type { ProductPrecision } from './precision.js';
import { runRoutine, type Composed } from './run-routine.js';

/** The factors and the result of a product. */
export interface PlannedProduct {
  readonly a: PlannedMatrix;
  readonly b: PlannedMatrix;
  readonly c: PlannedMatrix;
}

/** How a product is added up. */
export interface ProductNumbers {
  /** Default 1. */
  readonly alpha?: number | undefined;
  /** What of the former content is added; default 0. */
  readonly beta?: number | undefined;
  /** Default 'float32'. */
  readonly precision?: ProductPrecision | undefined;
  /** A GPU that matrices in host memory are brought to block by block, and how much memory those take there. */
  readonly host?: { readonly gpu: Device; readonly maxBytes: number | undefined } | undefined;
}

const ROUTINES: Readonly<Record<ProductPrecision, 'gemm' | 'gemmTf32' | 'gemmTf32x3'>> = {
  float32: 'gemm',
  tf32: 'gemmTf32',
  tf32x3: 'gemmTf32x3',
};

/**
 * Plans c = alpha a b + beta c; calls may give other numbers than these. On a GPU operands without a contiguous axis are copied first,
 * and a result without one is computed beside its memory.
 *
 * @param isRead whether c is read; default: where beta is not 0
 */
export function planProduct(
  call: Composed,
  batchShape: readonly number[],
  { a, b, c }: PlannedProduct,
  options: ProductNumbers,
  isRead?: boolean,
): void {
  const given = own(options, 'alpha', 'beta', 'precision', 'host');
  const { alpha = 1, beta = 0, precision = 'float32', host } = given;
  const { setting, steps } = call;
  const numbers = { alpha, beta };
  const name = ROUTINES[precision];
  if (host !== undefined) {
    const pointers = Object.fromEntries(
      Object.entries({ a, b, c }).map(([field, { memory }]) => [field, pointerAt(memory)]),
    );
    const routine = hostRoutine({ ...setting, batchShape }, { a, b, c }, { ...host, precision });
    steps.addRoutine(`${name} through blocks`, routine, { values: 0, pointers, scalars: numbers });
  } else if (setting.device.kind === 'cpu') {
    runRoutine(call, batchShape, name, { a, b, c, ...numbers });
  } else {
    const target = writableResult(steps, c, isRead ?? beta !== 0, batchShape);
    const left = readableFactor(steps, name, a, batchShape);
    const right = readableFactor(steps, name, b, batchShape);
    runRoutine(call, batchShape, name, { a: left, b: right, c: target.c, ...numbers });
    target.commit();
  }
}
