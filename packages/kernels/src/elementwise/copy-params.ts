import { upTo } from '../emit/text.js';
import type { DType } from '../dtype.js';
import { type KernelCost, type Scalars, scalar } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import type { ElementsPlan } from './plan-copy.js';
import { elementInfo, isRaw, type ElementType } from './element-type.js';

/** Elements visited by a launch. */
export function elementCount(plan: ElementsPlan, scalars: Scalars): number {
  if (plan.mode === 'linear') return scalar(scalars, 'count');
  return upTo(plan.rank).reduce((product, i) => product * scalar(scalars, `n${i}`), 1);
}

/**
 * `src` and `dst`, or `dst` and the element's bits `lo` and `hi`. Pointers to raw elements take any dtype; the caller has compared the two
 * sides.
 */
export function copyPointers(plan: ElementsPlan): readonly KernelParam[] {
  const dtypeOf = (type: ElementType): DType | 'byte' => (isRaw(type) ? 'byte' : type);
  const dst = pointer('dst', dtypeOf(plan.to), 'write');
  if (plan.family === 'copy') return [pointer('src', dtypeOf(plan.from), 'read'), dst];
  return [dst, ...['lo', 'hi'].map((name) => ({ name, kind: 'scalar', type: 'int32' }) as const)];
}

/** Prefixes of the extents, and of the strides of the source, if any, and of the destination. */
export const dimPrefixes = ({ family }: ElementsPlan): readonly string[] =>
  family === 'copy' ? ['n', 's', 'd'] : ['n', 'd'];

/** Those of `copyPointers`, then `count`, or `n0..` and strides, outermost first. */
export function copyParams(plan: ElementsPlan): readonly KernelParam[] {
  const dims = dimPrefixes(plan).flatMap((p) => upTo(plan.rank).map((i) => `${p}${i}`));
  return [...copyPointers(plan), ...(plan.mode === 'linear' ? ['count'] : dims).map(int64)];
}

/** Bytes read and written once each. */
export function copyCost(plan: ElementsPlan, scalars: Scalars): KernelCost {
  const read = plan.family === 'copy' ? elementInfo(plan.from).bytes : 0;
  return { bytes: elementCount(plan, scalars) * (read + elementInfo(plan.to).bytes), flops: 0 };
}

/** `mercer_copy_f32_f16_strided3`, `mercer_fill_b32_linear` and the like: the whole plan, so names never clash. */
export function copyEntry(plan: ElementsPlan): string {
  const tags = plan.family === 'copy' ? [plan.from, plan.to] : [plan.to];
  const verb = plan.family === 'copy' && plan.from !== plan.to ? 'cast' : plan.family;
  const name = [verb, ...tags.map((type) => elementInfo(type).tag), plan.mode].join('_');
  return `mercer_${name}${plan.mode === 'linear' ? '' : String(plan.rank)}`;
}
