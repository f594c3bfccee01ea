import type { Tensor } from '@mercer/tensor';
import type { Enqueuing } from '@mercer/tensor/operation';
import type { MatrixOperand } from '../operand.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, loaded } from './kernels.js';
import { clear } from './scratch.js';
import { prepared } from './streams.js';

/**
 * Clears the infos of a call for matrices like a, the first that it writes. A compiler or a library that is missing shows before, so that
 * results are as they were.
 */
export function* start(call: CudaCall, a: MatrixOperand, infos: Tensor<'int32'>): Enqueuing {
  yield* loaded(call, kernels.mergeCodes());
  if (a.rows * a.columns > 0) yield* prepared(call.stream);
  clear(call, infos);
}
