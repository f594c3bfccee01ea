import type { Enqueuing } from '@mercer/tensor/operation';
import { cublas, cusolver, type CudaStream } from '@mercer/cuda-runtime';
import { dtypeBytes, type Storage } from '@mercer/tensor';
import { enqueueNative, nativeStream, regionOf } from '@mercer/tensor/cuda';
import type { CudaCall } from './cuda-call.js';
import type { Factors } from './factor.js';
import type { Dense, Scratch } from './scratch.js';
import { prepared } from './streams.js';

/** Factors all matrices in one call of the library, and solves for the right-hand sides, in their place. */
export function* factorBatched(
  call: CudaCall,
  scratch: Scratch,
  factors: Factors,
  sides: Dense,
): Enqueuing {
  const { stream, setting } = call;
  yield* prepared(stream);
  const pointers = yield* addresses(call, scratch, factors.matrices);
  const rightPointers = yield* addresses(call, scratch, sides);
  const pivots = factors.pivots;
  const work = {
    what: setting.what,
    reads: [pointers, rightPointers],
    writes: [...factors.touches, sides.storage],
  };
  enqueueNative(stream, work, ({ stream: native }) => {
    const tables = { pointers: regionOf(pointers), rightPointers: regionOf(rightPointers) };
    if (pivots === undefined) cholesky(native, factors, sides, tables);
    else lu(native, factors, sides, { ...tables, pivots: regionOf(pivots) });
  });
}

type Tables = Record<'pointers' | 'rightPointers', ReturnType<typeof regionOf>>;

function cholesky(native: CudaStream, factors: Factors, sides: Dense, tables: Tables): void {
  const { matrices, codes, uplo } = factors;
  const { rows: n, count: batch, dtype } = matrices;
  const own = { dtype, uplo, n, batch, leadingDimension: n, pointers: tables.pointers };
  cusolver.potrfBatched(native, { ...own, infos: regionOf(codes) });
  if (sides.columns === 0) return;
  const order = uplo === 'lower' ? [false, true] : [true, false];
  for (const transpose of order) {
    cublas.trsmBatched(native, {
      dtype,
      side: 'left',
      uplo,
      transpose,
      rows: n,
      columns: sides.columns,
      batch,
      leadingDimension: n,
      rightLeadingDimension: n,
      ...tables,
    });
  }
}

function lu(
  native: CudaStream,
  { matrices, codes }: Factors,
  { columns }: Dense,
  tables: Tables & { readonly pivots: ReturnType<typeof regionOf> },
): void {
  const { rows: n, count: batch, dtype } = matrices;
  const { pointers, pivots, rightPointers } = tables;
  const own = { dtype, n, batch, leadingDimension: n, pointers, pivots };
  cublas.getrfBatched(native, { ...own, infos: regionOf(codes) });
  if (columns === 0) return;
  cublas.getrsBatched(native, { ...own, columns, rightPointers, rightLeadingDimension: n });
}

/** The addresses of dense matrices, on the device. */
function* addresses({ stream }: CudaCall, scratch: Scratch, dense: Dense): Enqueuing<Storage> {
  const { storage, rows, columns, count, dtype } = dense;
  const step = BigInt(rows * columns * dtypeBytes(dtype));
  const first = BigInt(storage.address);
  const table = BigUint64Array.from({ length: count }, (_, z) => first + BigInt(z) * step);
  const memory = scratch.bytes(table.byteLength);
  const native = nativeStream(stream);
  const { buffer } = regionOf(memory);
  // The library follows addresses: where they were not copied, nothing is launched.
  const copy = { isDone: false };
  yield {
    until: async () => {
      await native.copyToDevice(buffer, 0, table);
      copy.isDone = true;
    },
    isOptional: true,
  };
  // Only tables of more than 4 MiB may have to wait for the stream.
  if (!copy.isDone) native.copyToDeviceSync(buffer, 0, table);
  return memory;
}
