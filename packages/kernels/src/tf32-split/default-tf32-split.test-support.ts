import type { NamedKernel } from '../named-kernel.test-support.js';
import { emitTf32Split } from './emit-tf32-split.js';

/** Every kernel of the family; a GPU's only. */
export function defaultTf32SplitKernels(): NamedKernel[] {
  return (['parts', 'specials'] as const).map((step) => {
    const kernel = emitTf32Split(step);
    return { name: kernel.name, kernel };
  });
}
