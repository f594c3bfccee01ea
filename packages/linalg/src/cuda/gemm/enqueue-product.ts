import type { Enqueuing } from '@mercer/tensor/operation';
import { enqueueMatmul, type ProductCompute, type WholeProduct } from '@mercer/cuda-runtime';
import { dtypeBytes, type Storage, type Stream, type Tensor } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { Setting } from '../../checks.js';
import type { Within } from '../cuda-call.js';
import { room } from '../kernels.js';
import { planBatches, type Factors, type Group } from './batches.js';
import { placeOf, type Order, type Place, type Strided } from './strided.js';

/** Matrices in memory of a GPU. */
export interface Lying extends Strided {
  readonly memory: Tensor;
  /** Elements from the tensor's first one to the first matrix; default 0. */
  readonly offset?: number;
}

/** Operands of a product that the library takes where they lie; k is at least 1 and nothing is empty. */
export interface Product {
  readonly a: Lying;
  readonly b: Lying;
  readonly c: Lying;
  readonly alpha: number;
  readonly beta: number;
  /** Default: the operands' dtype. */
  readonly compute?: ProductCompute | undefined;
}

/** Enqueues c = alpha a b + beta c for every entry of the batch. Resolves when all of it is enqueued. @throws the signal's reason */
export function* enqueueProduct(
  setting: Setting,
  within: Within,
  product: Product,
  workspace: Storage | undefined,
): Enqueuing {
  const { groups, launch } = libraryProduct(setting, product, product.compute);
  for (const group of groups) {
    yield* room(within);
    launch(within.stream, product, group, workspace);
  }
}

type WholeMatrix = WholeProduct['a'];

/** A product as the library computes it, wherever its matrices are. */
export interface LibraryProduct {
  /** What one call each computes. */
  readonly groups: Iterable<Group>;
  /** Enqueues one of them. @throws as `enqueueNative` */
  readonly launch: (
    stream: Stream,
    product: Pick<Product, 'alpha' | 'beta'> & {
      readonly [K in 'a' | 'b' | 'c']: Pick<Lying, 'memory' | 'offset'>;
    },
    group: Group,
    workspace: Storage | undefined,
  ) => void;
}

/** Plans the calls of the library for matrices that lie so. */
export function libraryProduct(
  { what, dtype, batchShape }: Setting,
  matrices: Factors,
  compute: ProductCompute = dtype,
): LibraryProduct {
  const { factors, groups } = planBatches(matrices, batchShape);
  const { order, ...ofC } = placed(factors.c);
  const places = { a: placed(factors.a, order), b: placed(factors.b, order), c: ofC };
  const bytes = dtypeBytes(dtype);
  const matrix = (
    name: 'a' | 'b' | 'c',
  ): { -readonly [K in keyof WholeMatrix]: WholeMatrix[K] } => ({
    buffer: undefined as never,
    byteOffset: 0,
    leadingDimension: places[name].leadingDimension,
    batchStride: factors[name].batchStrides[0] ?? 0,
  });
  // what a call of the library reads is written anew for each: it keeps nothing
  const lying = { a: matrix('a'), b: matrix('b'), c: matrix('c') };
  const call: { -readonly [K in keyof WholeProduct]: WholeProduct[K] } = {
    dtype,
    outDtype: undefined,
    compute,
    order,
    m: factors.c.rows,
    n: factors.c.columns,
    k: factors.a.columns,
    transposeA: places.a.order !== order,
    transposeB: places.b.order !== order,
    a: lying.a,
    b: lying.b,
    c: undefined,
    d: lying.c,
    batch: 1,
    alpha: 1,
    beta: 0,
    workspace: undefined,
  };
  const lay = (
    name: 'a' | 'b' | 'c',
    { memory, offset = 0 }: Pick<Lying, 'memory' | 'offset'>,
    first: Group,
  ): void => {
    const { buffer, byteOffset = 0 } = regionOf(memory);
    const to = lying[name];
    to.buffer = buffer;
    to.byteOffset = byteOffset + bytes * (offset + first[name]);
  };
  return {
    groups,
    launch: (stream, { a, b, c, alpha, beta }, group, workspace) => {
      const writes = workspace === undefined ? [c.memory] : [c.memory, workspace];
      const touched = { reads: [a.memory, b.memory], writes, tellsMemory: true };
      enqueueNative(stream, { what, ...touched }, (streams) => {
        call.alpha = alpha;
        call.beta = beta;
        call.batch = group.batch;
        call.workspace = workspace && regionOf(workspace);
        lay('a', a, group);
        lay('b', b, group);
        lay('c', c, group);
        enqueueMatmul(streams.stream, call);
      });
    },
  };
}

function placed(matrix: Strided, preferred?: Order): Place {
  const place = placeOf(matrix, preferred);
  if (place === undefined)
    throw new RangeError('a matrix without a leading dimension was not copied');
  return place;
}
