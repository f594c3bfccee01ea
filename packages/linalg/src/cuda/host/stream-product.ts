import { empty, MercerError, type Device, type Storage, type Tensor } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { availableBytes, waited, whenEnqueued } from '@mercer/tensor/operation';
import type { Setting } from '../../checks.js';
import type { MatrixOperand } from '../../operand.js';
import type { RunOptions } from '../../options.js';
import type { ProductPrecision } from '../../precision.js';
import type { Within } from '../cuda-call.js';
import { enqueueProduct } from '../gemm/enqueue-product.js';
import { enqueueSplitProduct, type SplitProduct } from '../gemm/enqueue-split-product.js';
import { chunkOf } from '../gemm/tf32x3-plan.js';
import { namingTheLibrary } from '../naming-the-library.js';
import { FactorBlocks } from './factor-blocks.js';
import { HostMatrices, linePitch } from './host-matrices.js';
import { PinnedRing } from './pinned-ring.js';
import {
  leastBytes,
  planBlocks,
  tilesOf,
  type BlockPlan,
  type BlockProblem,
} from './plan-blocks.js';

/** Of what is free on the device, unless the caller says how much. */
const SHARE = 0.75;

/** A product of matrices in host memory, with k at least 1 and nothing empty. */
export interface HostProduct {
  /** Of the host. */
  readonly setting: Setting;
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: MatrixOperand;
  readonly alpha: number;
  readonly beta: number;
  readonly precision: ProductPrecision;
  readonly maxBytes: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Told how many blocks of the result are on their way home. */
  readonly onProgress: RunOptions['onProgress'];
}

/**
 * Computes c = alpha a b + beta c on a GPU, block by block: while one is multiplied, the next ones arrive and the one before goes
 * home, each on a stream of its own. Resolves when the result is in host memory.
 *
 * @throws MercerError OUT_OF_MEMORY, INVALID_ARGUMENT for a maxBytes without room for a block; NO_BACKEND
 */
export async function streamProduct(product: HostProduct, gpu: Device): Promise<void> {
  const { setting, a, b, c } = product;
  const problem = problemOf(product, gpu);
  const plan = planBlocks(problem);
  if (plan === undefined) throw tooLittle(product, problem, gpu);
  // Handles of its own: the caller may dispose the matrices while blocks are on their way.
  using held = new Tensors();
  const hold = (operand: MatrixOperand): MatrixOperand => ({
    ...operand,
    memory: held.add(operand.memory.view()),
  });
  const kept = { ...product, a: hold(a), b: hold(b), c: hold(c) };
  // Nothing orders the host's reads and writes below after what is enqueued on the tensors.
  await setting.device.synchronize({ signal: product.signal });
  const where = { what: setting.what, device: gpu };
  await whenEnqueued(namingTheLibrary(where, () => waited(() => run(kept, gpu, problem, plan))));
}

function problemOf({ setting, a, b, precision, maxBytes }: HostProduct, gpu: Device): BlockProblem {
  const parts = precision === 'tf32x3';
  return {
    m: a.rows,
    n: b.columns,
    k: a.columns,
    batch: setting.batchShape.reduce((entries, extent) => entries * extent, 1),
    elementBytes: setting.dtype === 'float32' ? 4 : 8,
    maxBytes: maxBytes ?? Math.floor(SHARE * availableBytes(gpu)),
    parts,
    leastK: parts ? chunkOf(a.columns) : 1,
  };
}

function tooLittle(
  { setting: { what }, maxBytes }: HostProduct,
  problem: BlockProblem,
  gpu: Device,
): MercerError {
  const least = `The least block takes ${leastBytes(problem)} bytes`;
  return maxBytes === undefined
    ? new MercerError(
        'OUT_OF_MEMORY',
        `${what}: ${gpu.id} has ${availableBytes(gpu)} bytes left, of which blocks may take ${SHARE}. ${least}: dispose tensors, or raise memoryLimitBytes.`,
      )
    : new MercerError(
        'INVALID_ARGUMENT',
        `${what}: maxBytes is ${maxBytes}. ${least}: pass as much, better some hundred MiB.`,
      );
}

async function run(
  product: HostProduct,
  gpu: Device,
  problem: BlockProblem,
  plan: BlockPlan,
): Promise<void> {
  const { setting, alpha, beta, signal, onProgress } = product;
  const { what, dtype } = setting;
  using input = gpu.createStream();
  using compute = gpu.createStream();
  using output = gpu.createStream();
  const native = nativeStream(input).device;
  const a = new HostMatrices(product.a, setting.batchShape);
  const b = new HostMatrices(product.b, setting.batchShape);
  const c = new HostMatrices(product.c, setting.batchShape);
  const roomA = room(a, plan.m, plan.k, plan.batch);
  const roomB = room(b, plan.k, plan.n, plan.batch);
  const roomC = room(c, plan.m, plan.n, plan.batch);
  const most = Math.max(roomA, roomB, roomC);
  using incoming = new PinnedRing(native, what, problem.elementBytes, most);
  using outgoing = new PinnedRing(native, what, problem.elementBytes, roomC);
  using factorsA = new FactorBlocks(dtype, roomA, incoming, input);
  using factorsB = new FactorBlocks(dtype, roomB, incoming, input);
  using results = new Tensors();
  for (let i = 0; i < plan.results; i++) {
    results.add(empty([roomC], { dtype, device: gpu, stream: compute }));
  }
  using workspace =
    plan.workspaceBytes === 0
      ? undefined
      : gpu.allocate(plan.workspaceBytes, { stream: compute, purpose: 'workspace' });
  const multiply = multiplierOf(product, problem, plan, { stream: compute, signal }, workspace);
  /** The way home of the block that each result holds. */
  const leaving = results.all.map(() => Promise.resolve());
  let latest = Promise.resolve();
  try {
    let turn = 0;
    const tiles = [...tilesOf(problem, plan)];
    for (const { entries, rows, columns, steps } of tiles) {
      const index = turn++ % plan.results;
      const result = results.all[index] as Tensor;
      await leaving[index];
      const target = c.block(entries, rows, columns);
      if (beta !== 0) await incoming.upload(target, result, input);
      let kept = beta;
      for (const step of steps) {
        signal?.throwIfAborted();
        const x = await factorsA.get(a.block(entries, rows, step));
        const y = await factorsB.get(b.block(entries, step, columns));
        const there = { ...setting, device: gpu, batchShape: [entries[1]] };
        await multiply(there, { a: x, b: y, c: target.lying(result), alpha, beta: kept });
        kept = 1;
      }
      latest = latest.then(() => outgoing.download(target, result, output));
      leaving[index] = latest;
      // It is awaited above or below; until then a failure is not unhandled.
      latest.catch(() => undefined);
      onProgress?.({ done: turn, total: tiles.length });
    }
    await latest;
  } finally {
    await latest.catch(() => undefined);
  }
}

/** Elements of the largest block on the device, in the order of the operand. */
function room(
  { order, shared }: HostMatrices,
  rows: number,
  columns: number,
  batch: number,
): number {
  const [lines, length] = order === 'row' ? [rows, columns] : [columns, rows];
  return (shared ? 1 : batch) * lines * linePitch(length);
}

/** How blocks are multiplied in the precision asked for. */
function multiplierOf(
  { precision }: HostProduct,
  problem: BlockProblem,
  { m, n, k, batch }: BlockPlan,
  within: Within,
  workspace: Storage | undefined,
): (setting: Setting, product: SplitProduct) => Promise<void> {
  if (precision === 'tf32x3') {
    const bytes = 8 * batch * linePitch(k) * (linePitch(m) + linePitch(n));
    const limits = { bytes, chunk: problem.leastK };
    return (setting, product) =>
      whenEnqueued(enqueueSplitProduct(setting, within, { ...product, limits }, workspace));
  }
  const compute = precision === 'tf32' ? precision : undefined;
  return (setting, product) =>
    whenEnqueued(enqueueProduct(setting, within, { ...product, compute }, workspace));
}

/** Tensors that are disposed together. */
class Tensors implements Disposable {
  readonly all: Tensor[] = [];

  add(tensor: Tensor): Tensor {
    this.all.push(tensor);
    return tensor;
  }

  [Symbol.dispose](): void {
    for (const tensor of this.all) tensor.dispose();
  }
}
