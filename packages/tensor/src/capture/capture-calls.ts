import { bytesOf } from '../checked-size.js';
import { isRowMajor } from '../layout.js';
import { coreOf, purposeOf } from '../operations.js';
import { inTurn } from '../call-order.js';
import { TensorForm } from '../tensor-form.js';
import { numberOf, Tensor, tensorsMade } from '../tensor.js';
import { preparedWork } from './prepared-work.js';
import { Capture } from './capture.js';
import { MercerError } from '../mercer-error.js';
import { copyBytes, PieceCopies, pieceCopier } from './piece-copies.js';
import { bytesIn, Replay, type Result } from './replay.js';

/**
 * Captures what a function does with tensors of one device, for the same work with others. It is called twice with copies of the examples: once
 * as it is, which compiles kernels, and once captured.
 *
 * @param f gives its results, pending ones awaited
 * @param example tensors without gaps, at least one
 * @param isWarm the function has just computed with tensors like these, on a CPU: what it launches is there, and it is only called to be captured
 * @throws MercerError CAPTURED, UNSUPPORTED; INVALID_ARGUMENT where it writes its arguments; what `f` throws
 */
export async function captured(
  f: (args: readonly Tensor[]) => Promise<readonly Tensor[]>,
  example: readonly Tensor[],
  isWarm = false,
): Promise<Replay> {
  const device = coreOf((example[0] as Tensor).device);
  const copier = await pieceCopier(device);
  const capture = new Capture(device, !isWarm);
  const inputs: Tensor[] = [];
  let isBegun = false;
  try {
    for (const one of example) inputs.push(await copyOf(one));
    if (!isWarm) await capture.run(() => called(f, inputs, () => undefined));
    isBegun = true;
    const copiesIn = new PieceCopies(copier, inputs.map(bytesIn));
    const { value: results, captured: work } = await capture.record(() => {
      copiesIn.capture(inputs, 'to', capture.stream);
      return called(f, inputs, async (made) => {
        const all = await Promise.all(made.map(rowMajor));
        for (const { storage } of all) if (!storage.isCaptured) capture.touch(storage, false);
        const places = all.map(resultOf);
        const copiesOut = new PieceCopies(
          copier,
          places.map(({ form }) => bytesIn(form)),
        );
        copiesOut.capture(places, 'from', capture.stream);
        for (const one of all) if (!made.includes(one)) one.dispose();
        return { places, copiesOut };
      });
    });
    const at = inputs.findIndex(({ storage }) => work.touched.get(storage) === true);
    const { places, copiesOut } = results;
    const replay = new Replay(copier, work, inputs, places, { in: copiesIn, out: copiesOut });
    if (at < 0) return replay;
    replay.dispose();
    throw new MercerError(
      'INVALID_ARGUMENT',
      `prepare: the function writes tensor ${at} of its arguments, and a replay computes with copies of them. Return what is new, or close over the tensor that is written.`,
    );
  } catch (error) {
    if (!isBegun) capture.dispose();
    for (const one of inputs) one.dispose();
    throw error;
  }
}

/** Calls the function; what it made is disposed when it was looked at. */
async function called<T>(
  f: (args: readonly Tensor[]) => Promise<readonly Tensor[]>,
  inputs: readonly Tensor[],
  look: (results: readonly Tensor[]) => T,
): Promise<Awaited<T>> {
  const args = inputs.map((one) => one.view());
  const before = tensorsMade();
  let results: readonly Tensor[] = [];
  try {
    results = await f(args);
    await preparedWork();
    for (const one of results) one.assertAlive();
    return await look(results);
  } finally {
    // after an error too, which is the one that is told
    await preparedWork().catch(() => undefined);
    // calls that nobody awaited still read them, and what they write must not lie where results do, which are copied out behind all
    const storages = inputs.map(({ storage }) => storage);
    await inTurn([], storages, undefined, () => Promise.resolve());
    // a result may be a tensor of the caller's
    for (const one of results) if (numberOf(one) > before) one.dispose();
    for (const one of args) one.dispose();
  }
}

/** The elements in row-major order: what is copied out. */
async function rowMajor(one: Tensor): Promise<Tensor> {
  return isRowMajor(one.shape, one.strides) ? one : one.contiguous();
}

/** Where a row-major tensor is. */
function resultOf({ storage, byteOffset, device, dtype, shape, strides }: Tensor): Result {
  return {
    storage,
    byteOffset,
    form: new TensorForm(device, dtype, { shape, strides, offset: 0 }),
  };
}

/** A copy that lies alike. */
async function copyOf(one: Tensor): Promise<Tensor> {
  const { shape, strides, dtype } = one;
  const device = coreOf(one.device);
  const stream = device.ownStream;
  return inTurn([one.storage], [], undefined, () => {
    const bytes = bytesOf(one.size, dtype);
    const memory = device.take(bytes, purposeOf(shape, dtype), stream);
    const copy = new Tensor(memory, dtype, { shape, strides, offset: 0 });
    if (bytes > 0) copyBytes(device, copy, one, bytes, stream);
    return Promise.resolve(copy);
  });
}
