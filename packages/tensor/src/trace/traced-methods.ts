import type { DType } from '@mercer/kernels';
import { checkAxis, type Axes } from '../arithmetic/axes.js';
import { attachTo } from '../attach-to.js';
import { formatShape } from '../checked-size.js';
import { zeros } from '../create.js';
import type { DeviceLike } from '../device.js';
import { pending } from '../pending.js';
import type { Tensor } from '../tensor.js';
import { concat } from '../shaping/join.js';
import type { SliceRange } from '../views.js';
import { recorded } from './dispatch.js';
import { aligned, byElements, shifted } from './batching.js';
import type { BatchRule, DerivativeRule, KnownValue, Primitive, Value } from './primitive.js';
import { summedTo } from './summed-to.js';
import { Traced } from './traced.js';

type Of<A extends readonly unknown[]> = DerivativeRule<readonly [x: KnownValue, ...A]>;

/** The elements themselves: the cotangent is that of the result. */
const same: Of<readonly unknown[]> = { isOfForms: true, vjp: (g) => [() => g], jvp: 'linear' };

/** The same elements in another shape: a copy where they do not lie one behind the other. */
const reshaped = (x: Value, shape: readonly number[]): Value => x.contiguous().reshape(shape);

const slice: Of<readonly SliceRange[]> = {
  vjp: (g, { args: [x, ...ranges] }) => [() => placed(g, x.shape, ranges)],
  jvp: 'linear',
};

/** Zeros of a shape with a tensor in the place that ranges select: what a slice is the inverse of. */
function placed(part: Value, shape: readonly number[], ranges: readonly SliceRange[]): Value {
  return (recorded(placing, [part, shape, ranges]) ??
    pending(placedNow(part, shape, ranges))) as Value;
}

async function placedNow(
  part: Value,
  shape: readonly number[],
  ranges: readonly SliceRange[],
): Promise<Tensor> {
  const one = part as KnownValue;
  const whole = await zeros(shape, { dtype: one.dtype, device: one.device });
  try {
    using place = whole.slice(...ranges);
    await place.copyFrom(one);
    return whole;
  } catch (error) {
    whole.dispose();
    throw error;
  }
}

const placing: Primitive = {
  name: 'slice',
  call: placed,
  derivative: {
    vjp: (g, { args: [, , ranges] }) => [() => (g as Tensor).slice(...ranges)],
    jvp: 'linear',
  } satisfies DerivativeRule<Placing>,
  batch: (({ args: [part, shape, ranges], size }) =>
    placed(part, [size, ...shape], [null, ...ranges])) satisfies BatchRule<Placing>,
};

type Placing = readonly [part: KnownValue, shape: readonly number[], ranges: readonly SliceRange[]];

const transpose: Of<readonly []> = {
  isOfForms: true,
  vjp: (g) => [() => g.transpose()],
  jvp: 'linear',
};

const permute: Of<readonly [axes: readonly number[]]> = {
  isOfForms: true,
  vjp: (g, { args: [, axes] }) => {
    const counted = axes.map((axis) => (axis < 0 ? axis + axes.length : axis));
    return [() => g.permute(counted.map((_, axis) => counted.indexOf(axis)))];
  },
  jvp: 'linear',
};

const reshape: Of<readonly [shape: readonly number[]]> = {
  isOfForms: true,
  vjp: (g, { args: [x] }) => [() => reshaped(g, x.shape)],
  jvp: ([tangent], { result }) => reshaped(tangent as Value, result.shape),
};

const flip: Of<readonly [axes?: Axes]> = {
  vjp: (g, { args: [, axes] }) => [() => g.flip(axes)],
  jvp: 'linear',
};

const split: Of<readonly [sections: number | readonly number[], axis?: number]> = {
  vjp: (g, { args: [x, , axis = 0], result }) => [
    () => {
      const given = g as unknown as readonly (Value | undefined)[];
      if (!given.includes(undefined)) return concat(given as readonly Tensor[], axis);
      const at = axis < 0 ? axis + x.shape.length : axis;
      let start = 0;
      let sum: Value | undefined;
      for (const [k, { shape }] of (result as unknown as readonly KnownValue[]).entries()) {
        const stop = start + (shape[at] ?? 0);
        const part = given[k];
        if (part !== undefined) {
          const whole = placed(part, x.shape, [...new Array<null>(at).fill(null), [start, stop]]);
          sum = sum?.add(whole) ?? whole;
        }
        start = stop;
      }
      return sum;
    },
  ],
  jvp: 'linear',
};

const broadcastTo: Of<readonly [shape: readonly number[]]> = {
  isOfForms: true,
  vjp: (g, { args: [x, shape] }) => [() => summedTo(g, shape, x.shape)],
  jvp: 'linear',
};

const cast: Of<readonly [dtype: DType]> = {
  vjp: (g) => [() => g],
  jvp: ([tangent], { result }) => (tangent as Value).cast(result.dtype),
};

const to: Of<readonly [device: DeviceLike]> = {
  vjp: (g, { args: [x] }) => [() => g.to((x as Tensor).device)],
  jvp: 'linear',
};

const RULES = {
  slice,
  transpose,
  permute,
  reshape,
  flip,
  split,
  broadcastTo,
  view: same,
  contiguous: same,
  clone: same,
  cast,
  to,
} as const satisfies Readonly<Record<string, DerivativeRule>>;

type Maps<A extends readonly unknown[]> = BatchRule<readonly [x: KnownValue, ...A]>;

const mapSlice: Maps<readonly SliceRange[]> = ({ args: [x, ...ranges] }) =>
  (x as Tensor).slice(null, ...ranges);

/** Of vectors there is nothing to transpose, but their rows are a matrix. */
const mapTranspose: Maps<readonly []> = ({ args: [x] }) =>
  x.shape.length < 3 ? (x as Tensor).view() : x.transpose();

const mapPermute: Maps<readonly [axes: readonly number[]]> = ({ args: [x, axes] }) =>
  x.permute([0, ...axes.map((axis) => (axis < 0 ? axis + axes.length : axis) + 1)]);

const mapReshape: Maps<readonly [shape: readonly number[]]> = ({ args: [x, shape], size }) => {
  const [, ...extents] = x.shape;
  // the mapped axis may have no elements, of which -1 says nothing
  const known = shape.reduce((all, extent) => (extent === -1 ? all : all * extent), 1);
  const missing = extents.reduce((all, extent) => all * extent, 1) / known;
  const isClear = shape.filter((extent) => extent === -1).length < 2 && Number.isInteger(missing);
  const whole = shape.map((extent) => (extent === -1 && isClear ? missing : extent));
  return x.reshape([size, ...whole]);
};

const mapFlip: Maps<readonly [axes?: Axes]> = ({ args: [x, axes] }) =>
  x.flip(shifted('flip', axes, x.shape.slice(1)));

const mapSplit: Maps<readonly [sections: number | readonly number[], axis?: number]> = ({
  args: [x, sections, axis = 0],
}) => {
  const [, ...shape] = x.shape;
  const at = checkAxis('split', axis, shape.length, `shape ${formatShape(shape)}`);
  return (x as Tensor).split(sections, at + 1);
};

const mapBroadcastTo: Maps<readonly [shape: readonly number[]]> = ({ args: [x, shape], size }) =>
  aligned(x, true, shape.length).broadcastTo([size, ...shape]);

const BATCH_RULES: Readonly<Record<keyof typeof RULES, BatchRule>> = {
  slice: mapSlice,
  transpose: mapTranspose,
  permute: mapPermute,
  reshape: mapReshape,
  flip: mapFlip,
  split: mapSplit,
  broadcastTo: mapBroadcastTo,
  view: byElements,
  contiguous: byElements,
  clone: byElements,
  cast: byElements,
  to: byElements,
};

/** Methods of the class of tensors, with the rules that they have as operations. */
for (const [name, derivative] of Object.entries<DerivativeRule>(RULES)) {
  const primitive: Primitive = {
    name,
    call: (x: Tensor, ...given: readonly unknown[]) =>
      Reflect.apply(Reflect.get(x, name) as () => unknown, x, given) as unknown,
    derivative,
    batch: BATCH_RULES[name as keyof typeof RULES],
  };
  attachTo(Traced.prototype, {
    [name](this: Traced, ...given: readonly unknown[]): unknown {
      return recorded(primitive, [this, ...given]);
    },
  });
}
