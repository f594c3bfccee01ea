import { keptPlace, waited, type Enqueuing } from '@mercer/tensor/operation';
import { regionOf, enqueueNative } from '@mercer/tensor/cuda';
import { dtypeBytes, tensor, type Tensor } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { multiply } from './product.js';
import { readNumbers } from './read-numbers.js';
import { clear, Scratch, type Dense } from './scratch.js';

/** The info of an iteration that did not end. */
const NOT_CONVERGED = -2;

/** V diag(w^power) V^T. */
export function* eigenPower(call: CudaCall<FieldsOf<'eigenPower'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, result, infos, errors, power, ridge, epsilon } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  clear(call, infos);
  const { vectors, values, codes } = yield* spectrum(call, scratch, a, {
    uplo: triangle(args.upper),
    infos,
  });
  yield* mergeCodes(call, infos, codes, count, NOT_CONVERGED);
  const n = vectors.rows;
  const inputs = { values: values.storage, errors, infos };
  const numbers = { n, power, ridge, epsilon, count };
  yield* launch(call, kernels.eigenPowers(dtype), inputs, numbers);
  const scaled = scratch.matrices(n, n);
  const product = scratch.matrices(n, n);
  const pointers = { from: vectors.storage, factors: values.storage, to: scaled.storage };
  const sizes = { rows: n, columns: n, byRows: 0, count };
  yield* launch(call, kernels.scale(dtype), pointers, sizes);
  multiply(call, { a: scaled, b: vectors, c: product, transposeB: true });
  yield* unpack(call, batchShape, product, result, infos);
}

type RootCall = CudaCall<FieldsOf<'inverseRoot'>>;

/** Steps after which an iteration is given up. */
const MOST_STEPS = 100;
/** What |M - I| has to come down to. */
const ACCEPTED = 0.1;

/**
 * The coupled Newton iteration for -1/root, products only. After each step the call reads how far the matrices are, without
 * holding up the event loop, and keeps the best of each.
 */
export function* inverseRoot(call: RootCall): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const { a, result, infos, errors, ridge } = args;
  using scratch = new Scratch(call);
  clear(call, infos);
  const m = scratch.matrices(a.rows, a.columns);
  const part = triangle(args.upper);
  yield* pack(call, batchShape, a, m, { part, mirrored: true, ridge, infos });
  const known = yield* waited(() => infos.toTypedArray(workOf(call)));
  const finite = known.map((info) => Number(info === 0));
  const { least, best } = yield* iterate(call, scratch, m);
  const given = least.map((error, z) => (finite[z] === 0 ? NaN : error));
  const found = given.map((error, z) =>
    finite[z] === 0 ? -1 : error < ACCEPTED ? 0 : NOT_CONVERGED,
  );
  yield* waited(() => writeAll(call, errors, given));
  yield* waited(() => writeAll(call, infos, found));
  yield* unpack(call, batchShape, best, result, infos);
}

async function writeAll(call: RootCall, to: Tensor, numbers: Float64Array): Promise<void> {
  const { dtype, device, shape } = to;
  const inPlace = keptPlace();
  using from = await tensor(numbers, { dtype, device, shape, ...workOf(call) });
  await inPlace(() => to.copyFrom(from, workOf(call)));
}

/** x <- x t, m <- t^root m with t = ((root + 1) I - m) / root, while it gets better; rounding ends that. */
function* iterate(
  call: RootCall,
  scratch: Scratch,
  start: Dense,
): Enqueuing<{ least: Float64Array; best: Dense }> {
  const { setting, args } = call;
  const { dtype } = setting;
  const { root } = args;
  const { rows, columns, count } = start;
  const make = (): Dense => scratch.matrices(rows, columns);
  let [m, x, spare] = [start, make(), make()];
  const [t, best] = [make(), make()];
  const [distances, squares] = [scratch.bytes(8 * count), scratch.bytes(8 * count)];
  const measure = function* (): Enqueuing<Float64Array> {
    const pointers = { matrices: m.storage, distances, squares };
    yield* launch(call, kernels.distances(dtype), pointers, { n: rows, count });
    return (yield* readNumbers(call, distances, 'float64')) as Float64Array;
  };
  yield* measure();
  const sizes = { rows, columns, count, root };
  yield* launch(call, kernels.newtonStart(dtype), { m: m.storage, x: x.storage, squares }, sizes);
  const least = new Float64Array(count).fill(Infinity);
  const done = new Uint8Array(count);
  for (let step = 0; step < MOST_STEPS; step++) {
    const off = yield* measure();
    for (const [z, distance] of off.entries()) {
      if (done[z] === 1) continue;
      const better = distance < (least[z] ?? NaN);
      if (better) {
        least[z] = distance;
        keep(call, x, best, z);
      }
      // The first steps may lead away from the identity; near it every one must pay.
      const ended = !Number.isFinite(distance) || distance === 0;
      if (ended || (!better && (least[z] ?? NaN) < 0.5)) done[z] = 1;
    }
    if (!done.includes(0)) break;
    yield* launch(call, kernels.newtonFactor(dtype), { m: m.storage, t: t.storage }, sizes);
    multiply(call, { a: x, b: t, c: spare });
    [x, spare] = [spare, x];
    for (let i = 0; i < root; i++) {
      multiply(call, { a: t, b: m, c: spare });
      [m, spare] = [spare, m];
    }
  }
  return { least, best };
}

/** Copies matrix z. */
function keep({ setting, stream }: RootCall, from: Dense, to: Dense, z: number): void {
  const bytes = from.rows * from.columns * dtypeBytes(from.dtype);
  const memory = { reads: [from.storage], writes: [to.storage] };
  enqueueNative(stream, { what: setting.what, ...memory }, ({ stream: native }) => {
    const [target, source] = [regionOf(to.storage).buffer, regionOf(from.storage).buffer];
    native.copyDeviceToDevice(target, z * bytes, source, z * bytes, bytes);
  });
}
