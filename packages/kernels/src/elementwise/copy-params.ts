import { upTo } from '../emit/indent.js';
import type { DType } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import type { CopyPlan } from './copy-plan.js';
import { elementInfo, isRaw, type ElementType } from './element-type.js';
import type { FillPlan } from './fill-plan.js';

/** A named scalar of a launch; a missing one is a mistake of the caller. */
export function scalar(scalars: Scalars, name: string): number {
  const value = scalars[name];
  if (value === undefined) throw new TypeError(`launch: scalar '${name}' is missing`);
  return value;
}

/** Elements visited by a launch. */
export function elementCount(plan: CopyPlan | FillPlan, scalars: Scalars): number {
  if (plan.mode === 'linear') return scalar(scalars, 'count');
  return upTo(plan.rank).reduce((product, i) => product * scalar(scalars, `n${i}`), 1);
}

/** `src` and `dst`: of raw elements they take any dtype; the caller has compared the two sides. */
export function copyPointers({ from, to }: CopyPlan): readonly KernelParam[] {
  const dtypeOf = (type: ElementType): DType | 'byte' => (isRaw(type) ? 'byte' : type);
  return [pointer('src', dtypeOf(from), 'read'), pointer('dst', dtypeOf(to), 'write')];
}

/** `src`, `dst`, then `count`, or `n0..`, `s0..`, `d0..` outermost first. */
export function copyParams(plan: CopyPlan): readonly KernelParam[] {
  const dims = ['n', 's', 'd'].flatMap((p) => upTo(plan.rank).map((i) => `${p}${i}`));
  return [...copyPointers(plan), ...(plan.mode === 'linear' ? ['count'] : dims).map(int64)];
}

/** `dst`, the element's bits `lo` and `hi`, then `count`, or `n0..`, `d0..` outermost first. */
export function fillParams(plan: FillPlan): readonly KernelParam[] {
  const dims = ['n', 'd'].flatMap((p) => upTo(plan.rank).map((i) => `${p}${i}`));
  return [
    pointer('dst', 'byte', 'write'),
    { name: 'lo', kind: 'scalar', type: 'int32' },
    { name: 'hi', kind: 'scalar', type: 'int32' },
    ...(plan.mode === 'linear' ? ['count'] : dims).map(int64),
  ];
}

/** Bytes read and written once each. */
export function copyCost(plan: CopyPlan, scalars: Scalars): KernelCost {
  const width = elementInfo(plan.from).bytes + elementInfo(plan.to).bytes;
  return { bytes: elementCount(plan, scalars) * width, flops: 0 };
}

/** Bytes written once. */
export function fillCost(plan: FillPlan, scalars: Scalars): KernelCost {
  return { bytes: elementCount(plan, scalars) * plan.bytes, flops: 0 };
}

/** `mercer_copy_f32_f16_strided3` and the like: the whole plan, so names never clash. */
export function copyEntry(plan: CopyPlan): string {
  const tag = `${elementInfo(plan.from).tag}_${elementInfo(plan.to).tag}`;
  const verb = plan.from === plan.to ? 'copy' : 'cast';
  return `mercer_${verb}_${tag}_${plan.mode}${plan.mode === 'linear' ? '' : String(plan.rank)}`;
}

/** `mercer_fill_b32_linear` and the like. */
export function fillEntry(plan: FillPlan): string {
  const rank = plan.mode === 'linear' ? '' : String(plan.rank);
  return `mercer_fill_b${plan.bytes * 8}_${plan.mode}${rank}`;
}
