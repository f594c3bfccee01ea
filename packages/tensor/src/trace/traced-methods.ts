import type { DType } from '@mercer/kernels';
import type { Axes } from '../arithmetic/axes.js';
import { zeros } from '../create.js';
import type { DeviceLike } from '../device.js';
import { pending } from '../pending.js';
import type { Tensor } from '../tensor.js';
import { concat } from '../shaping/join.js';
import type { SliceRange } from '../views.js';
import { recorded } from './dispatch.js';
import type { DerivativeRule, KnownValue, Primitive, Value } from './primitive.js';
import { summedTo } from './summed-to.js';
import { Traced } from './traced.js';

type Of<A extends readonly unknown[]> = DerivativeRule<readonly [x: KnownValue, ...A]>;

/** The elements themselves: the cotangent is that of the result. */
const same: Of<readonly unknown[]> = { vjp: (g) => [() => g], jvp: 'linear' };

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
  } satisfies DerivativeRule<
    readonly [part: KnownValue, shape: readonly number[], ranges: readonly SliceRange[]]
  >,
};

const transpose: Of<readonly []> = { vjp: (g) => [() => g.transpose()], jvp: 'linear' };

const permute: Of<readonly [axes: readonly number[]]> = {
  vjp: (g, { args: [, axes] }) => {
    const counted = axes.map((axis) => (axis < 0 ? axis + axes.length : axis));
    return [() => g.permute(counted.map((_, axis) => counted.indexOf(axis)))];
  },
  jvp: 'linear',
};

const reshape: Of<readonly [shape: readonly number[]]> = {
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

/** Methods of the class of tensors, with the rules that they have as operations. */
for (const [name, derivative] of Object.entries<DerivativeRule>(RULES)) {
  const primitive: Primitive = {
    name,
    call: (x: Tensor, ...given: readonly unknown[]) =>
      Reflect.apply(Reflect.get(x, name) as () => unknown, x, given) as unknown,
    derivative,
  };
  Object.defineProperty(Traced.prototype, name, {
    value(this: Traced, ...given: readonly unknown[]): unknown {
      return recorded(primitive, [this, ...given]);
    },
    configurable: true,
    writable: true,
  });
}
