import type { Device } from '@mercer/tensor';
import { waited, type CallRoutine } from '@mercer/tensor/operation';
import type { Setting } from '../../checks.js';
import type { MatrixOperand, PlannedMatrix } from '../../operand.js';
import type { ProductPrecision } from '../../precision.js';
import { assertLibraries } from '../libraries.js';
import { namingTheLibrary } from '../naming-the-library.js';
import { streamProduct } from './stream-product.js';

/** Where a product of matrices in host memory is computed, and how. */
export interface HostPlan {
  readonly gpu: Device;
  readonly maxBytes: number | undefined;
  readonly precision: ProductPrecision;
}

/** A product of matrices in host memory on a GPU, as a routine that waits until the result is there. */
export const hostRoutine = (
  setting: Setting,
  planned: Readonly<Record<'a' | 'b' | 'c', PlannedMatrix>>,
  { gpu, ...how }: HostPlan,
): CallRoutine => ({
  now: undefined,
  prepare: () => Promise.resolve(),
  ready: () =>
    namingTheLibrary({ what: setting.what, device: gpu }, function* () {
      yield* [];
      assertLibraries(['cublasLt']);
    }),
  *enqueue({ memory, scalars, signal, onProgress }) {
    const of = (name: 'a' | 'b' | 'c'): MatrixOperand => {
      const tensor = memory[name];
      if (tensor === undefined) throw new TypeError(`a product has no ${name}`);
      return { ...planned[name], memory: tensor };
    };
    const matrices = { a: of('a'), b: of('b'), c: of('c') };
    const numbers = { alpha: scalars['alpha'] ?? 1, beta: scalars['beta'] ?? 0 };
    const product = { setting, ...matrices, ...numbers, ...how, signal, onProgress };
    yield* waited(() => streamProduct(product, gpu));
  },
});
