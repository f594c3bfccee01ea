import { regionOf, enqueueNative } from '@mercer/tensor/cuda';
import { dtypeBytes, tensor, type Tensor, type WorkOptions } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { LinalgDType } from '../checks.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { needed } from './needed.js';
import { multiply } from './product.js';
import { readNumbers } from './read-numbers.js';
import { countOf, Scratch, type Dense } from './scratch.js';

/** The info of an iteration that did not end. */
const NOT_CONVERGED = -2;

/** V diag(w^power) V^T. */
export async function eigenPower(call: CudaCall<FieldsOf<'eigenPower'>>): Promise<void> {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, result] = needed(args, 'a', 'result');
  const { infos, errors, power, ridge, epsilon } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  await infos.fill(0, workOf(call));
  const { vectors, values, codes } = await spectrum(call, scratch, a, {
    uplo: triangle(args.upper),
    infos,
  });
  await mergeCodes(call, infos, codes, count, NOT_CONVERGED);
  const n = vectors.rows;
  const inputs = { values: values.storage, errors, infos };
  const numbers = { n, power, ridge, epsilon, count };
  await launch(call, kernels.eigenPowers(dtype), inputs, numbers);
  const scaled = scratch.matrices(n, n);
  const product = scratch.matrices(n, n);
  const pointers = { from: vectors.storage, factors: values.storage, to: scaled.storage };
  const sizes = { rows: n, columns: n, byRows: 0, count };
  await launch(call, kernels.scale(dtype), pointers, sizes);
  multiply(call, { a: scaled, b: vectors, c: product, transposeB: true });
  await unpack(call, batchShape, product, result, infos);
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
export async function inverseRoot(call: RootCall): Promise<void> {
  const { setting, args } = call;
  const { batchShape, dtype, device } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, result] = needed(args, 'a', 'result');
  const { infos, errors, ridge } = args;
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const m = scratch.matrices(a.rows, a.columns);
  const part = triangle(args.upper);
  await pack(call, batchShape, a, m, { part, mirrored: true, ridge, infos });
  const finite = (await infos.toTypedArray(workOf(call))).map((info) => Number(info === 0));
  const { least, best } = await iterate(call, scratch, m);
  const given = least.map((error, z) => (finite[z] === 0 ? NaN : error));
  await writeAll(errors, given, { dtype, device, ...workOf(call) });
  const found = [...given].map((error, z) =>
    finite[z] === 0 ? -1 : error < ACCEPTED ? 0 : NOT_CONVERGED,
  );
  await writeAll(infos, Float64Array.from(found), {
    dtype: 'int32',
    device,
    ...workOf(call),
  });
  await unpack(call, batchShape, best, result, infos);
}

async function writeAll(
  to: Tensor,
  numbers: Float64Array,
  {
    dtype,
    device,
    ...within
  }: { dtype: LinalgDType | 'int32' } & Pick<Scratch, 'device'> & WorkOptions,
): Promise<void> {
  using from = await tensor(numbers, { dtype, device, ...within });
  using shaped = from.reshape(to.shape);
  await to.copyFrom(shaped, within);
}

/** x <- x t, m <- t^root m with t = ((root + 1) I - m) / root, while it gets better; rounding ends that. */
async function iterate(
  call: RootCall,
  scratch: Scratch,
  start: Dense,
): Promise<{ least: Float64Array; best: Dense }> {
  const { setting, args } = call;
  const { dtype } = setting;
  const { root } = args;
  const { rows, columns, count } = start;
  const make = (): Dense => scratch.matrices(rows, columns);
  let [m, x, spare] = [start, make(), make()];
  const [t, best] = [make(), make()];
  const [distances, squares] = [scratch.bytes(8 * count), scratch.bytes(8 * count)];
  const measure = async (): Promise<Float64Array> => {
    const pointers = { matrices: m.storage, distances, squares };
    await launch(call, kernels.distances(dtype), pointers, { n: rows, count });
    return (await readNumbers(call, distances, 'float64')) as Float64Array;
  };
  await measure();
  const sizes = { rows, columns, count, root };
  await launch(call, kernels.newtonStart(dtype), { m: m.storage, x: x.storage, squares }, sizes);
  const least = new Float64Array(count).fill(Infinity);
  const done = new Uint8Array(count);
  for (let step = 0; step < MOST_STEPS; step++) {
    const off = await measure();
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
    await launch(call, kernels.newtonFactor(dtype), { m: m.storage, t: t.storage }, sizes);
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
