import type { DType } from '@mercer/kernels';
import { attachMethods } from '../attach-methods.js';
import { elementwise, presentOperand } from '../arithmetic/elementwise.js';
import { ChainResult } from '../arithmetic/chain-result.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { zeros } from '../create.js';
import type { Device } from '../device.js';
import type { Layout } from '../layout.js';
import { MercerError } from '../mercer-error.js';
import { heard, pending, pendingInPlace, type Pending } from '../pending.js';
import { assertTensor, viewOf, type Tensor } from '../tensor.js';
import { inFront } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import { HeldArguments } from '../trace/held-arguments.js';
import type { DerivativeRule, KnownValue, Primitive } from '../trace/primitive.js';
import { checkOffset } from './diagonals.js';

type Triangle = 'tril' | 'triu';

/** Dtypes of which `where` does not give the very elements: what is taken for their bits instead, several for each. */
const IN_BITS: Partial<Readonly<Record<DType, { readonly dtype: DType; readonly count: number }>>> =
  {
    float16: { dtype: 'uint8', count: 2 },
    bfloat16: { dtype: 'uint8', count: 2 },
    int64: { dtype: 'int32', count: 2 },
  };

/**
 * Where elements of a matrix stay, as (rows, columns): a view of one element for each diagonal, each row of which begins one further to the
 * left.
 */
async function maskOf(
  what: Triangle,
  [rows, columns]: readonly [number, number],
  offset: number,
  device: Device,
): Promise<Tensor<'bool'>> {
  const count = Math.max(1, rows + columns - 1);
  const diagonals = await zeros([count], { dtype: 'bool', device });
  // the diagonals from the lowest on; `offset` is at place rows - 1 + offset
  const place = Math.min(Math.max(rows - 1 + offset + (what === 'tril' ? 1 : 0), 0), count);
  try {
    using kept = diagonals.slice(what === 'tril' ? [0, place] : [place, count]);
    if (kept.size > 0) await kept.fill(1);
    const layout: Layout = {
      shape: [rows, columns],
      strides: [-1, 1],
      offset: Math.max(rows - 1, 0),
    };
    return viewOf(diagonals, layout, 'bool');
  } finally {
    diagonals.dispose();
  }
}

/** What is known of an operand that is not computed yet. */
type Known = Pick<Tensor, 'shape' | 'dtype' | 'device'>;

function triangle(what: Triangle, x: unknown, offset: unknown): Pending<Tensor> {
  heard([x]);
  const diagonal = checkOffset(offset, what);
  const present = presentOperand(x);
  if (present !== undefined) return triangleOf(what, present, diagonal);
  const whenKnown = async (): Promise<Tensor> => {
    const held = new HeldArguments([x]);
    try {
      const [made] = await held.known();
      return await triangleOf(what, made, diagonal);
    } finally {
      held.release();
    }
  };
  return pending(whenKnown());
}

function triangleOf(what: Triangle, x: unknown, offset: number): Pending<Tensor> {
  if (!(x instanceof ChainResult)) assertTensor(x, `${what}: x`);
  const { shape, dtype, device }: Known = x;
  const [rows, columns] = shape.slice(-2);
  if (rows === undefined || columns === undefined) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: x is ${x.label}, of rank ${shape.length}. Pass a matrix, or several, with rows and columns as the last axes.`,
    );
  }
  // nothing else touches its memory
  const mask = pendingInPlace(maskOf(what, [rows, columns], offset, device));
  const result =
    IN_BITS[dtype] === undefined ? masked(mask, x, dtype) : ofBits(mask, x as TensorOperand);
  // what was made of it holds its memory by now
  mask.then(
    (one) => {
      one.dispose();
    },
    () => undefined,
  );
  return result;
}

function masked(mask: unknown, x: unknown, dtype: DType): Pending<Tensor> {
  const result =
    dtype === 'bool' ? elementwise('logicalAnd', [mask, x]) : elementwise('where', [mask, x, 0]);
  return result as unknown as Pending<Tensor>;
}

/** The elements are moved by their bits: arithmetic rounds int64 beyond 2^53, and gives float32 for floats of 16 bits. */
function ofBits(mask: Pending<Tensor<'bool'>>, x: TensorOperand): Pending<Tensor> {
  // before anybody disposes it
  const spread = mask.then((one) => one.reshape([...one.shape, 1]));
  const work = async (): Promise<Tensor> => {
    using wide = await spread;
    const elements = await x;
    const { dtype, shape } = elements;
    const bits = IN_BITS[dtype];
    if (bits === undefined) throw new Error(`${dtype} is computed as it is`);
    const { count } = bits;
    const inside: Layout = {
      shape: [...shape, count],
      strides: [...elements.strides.map((stride) => stride * count), 1],
      offset: elements.offset * count,
    };
    using parts = viewOf(elements, inside, bits.dtype);
    using kept = await masked(wide, parts, bits.dtype);
    const strides = kept.strides.slice(0, -1).map((stride) => stride / count);
    return viewOf(kept, { shape, strides, offset: kept.offset / count }, dtype);
  };
  return pending(work());
}

/**
 * The lower triangle of a matrix, or of each of several: elements on a diagonal and below it, and 0 above. Computed when it is awaited or used, in
 * one kernel with the elementwise results that it is taken of; of int64 and floats of 16 bits in a kernel of its own.
 *
 * ```ts
 * import { tensor, tril } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await tril(x).toNested()); // [ [ 1, 0 ], [ 3, 4 ] ]
 * console.log(await x.mul(2).tril(-1).toNested()); // [ [ 0, 0 ], [ 6, 0 ] ]
 * ```
 *
 * @param x (..., rows, columns), any dtype and strides
 * @param offset the last diagonal that stays: 0 for the main one, positive above, negative below
 * @returns of x's shape and dtype
 * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT, DISPOSED
 */
export function tril<D extends DType>(x: TensorOperand<D>, offset = 0): Pending<Tensor<D>> {
  return (recorded(lower, [x, offset]) ?? triangle('tril', x, offset)) as Pending<Tensor<D>>;
}

/** The upper triangle: elements on a diagonal and above it, and 0 below; `offset` is the first that stays. See {@link tril}. */
export function triu<D extends DType>(x: TensorOperand<D>, offset = 0): Pending<Tensor<D>> {
  return (recorded(upper, [x, offset]) ?? triangle('triu', x, offset)) as Pending<Tensor<D>>;
}

const masking = (name: Triangle, call: typeof tril): Primitive => ({
  name,
  call,
  derivative: {
    vjp: (g, { args: [, offset] }) => [() => call(g, offset)],
    jvp: 'linear',
  } satisfies DerivativeRule<readonly [x: KnownValue, offset: number]>,
  batch: inFront(2),
});

const lower = masking('tril', tril);
const upper = masking('triu', triu);

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The lower triangle: see {@link tril}. */
    tril(offset?: number): Pending<Tensor<D>>;
    /** The upper triangle: see {@link triu}. */
    triu(offset?: number): Pending<Tensor<D>>;
  }
}

attachMethods({ tril, triu });
