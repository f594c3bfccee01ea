import type { Reference } from '../testing/trajectory.test-support.js';
import {
  along,
  combined,
  gram,
  identity,
  jacobi,
  ofSymmetric,
  orthonormal,
  times,
  transposed,
  zeros,
  type Block,
  type Matrix,
} from './jacobi.test-support.js';

/** What a reference is told: the shapes as blocks are cut from them, written out by the test. */
export interface ShampooReference {
  /** For each parameter its merged shape. */
  readonly merged: readonly (readonly number[])[];
  readonly maxDim?: number;
  readonly lr?: (t: number) => number;
  readonly betas?: readonly [number, number];
  readonly beta3?: number;
  readonly eps?: number;
  readonly start?: number;
  readonly frequency?: number;
  readonly delay?: number;
  readonly grafting?: 'none' | 'sgd' | 'adagrad' | 'rmsprop' | 'adam';
  readonly graftingBeta?: number;
  readonly graftingEps?: number;
  readonly qr?: boolean;
  readonly traceScaling?: boolean;
  readonly momentum?: number;
  readonly dampening?: number;
  readonly nesterov?: boolean;
  readonly weightDecay?: number;
  readonly decay?: 'decoupled' | 'l2' | 'corrected' | 'independent';
  readonly peakLr?: number;
}

/** Indices of the elements of each block of at most `maxDim` along each axis. */
function blocksOf(merged: readonly number[], maxDim: number): { sizes: number[]; at: number[] }[] {
  let blocks: { sizes: number[]; at: number[] }[] = [{ sizes: [], at: [0] }];
  for (const extent of merged) {
    blocks = blocks.flatMap(({ sizes, at }) => {
      const parts = [];
      for (let from = 0; from < extent; from += maxDim) {
        const size = Math.min(maxDim, extent - from);
        const range = Array.from({ length: size }, (_, k) => from + k);
        parts.push({
          sizes: [...sizes, size],
          at: at.flatMap((x) => range.map((k) => x * extent + k)),
        });
      }
      return parts;
    });
  }
  return blocks;
}

/** Gupta, Koren and Singer 2018, algorithm 2, with the additions of Shi et al. 2023, one block after another. */
export function shampooReference(options: ShampooReference): Reference {
  const { merged, maxDim = Infinity, lr = () => 1e-2, betas = [0.9, 1], eps = 1e-12 } = options;
  const {
    frequency = 1,
    start = frequency,
    delay = 0,
    grafting = 'adam',
    decay = 'decoupled',
  } = options;
  const { graftingBeta = grafting === 'adam' ? 0.999 : 0.99, graftingEps = 1e-10 } = options;
  const {
    momentum = 0,
    dampening = 0,
    nesterov = false,
    weightDecay = 0,
    peakLr = lr(1),
  } = options;
  const [beta1, beta2] = betas;
  const { beta3 = beta1, qr = false, traceScaling = false } = options;
  const cut = merged.map((shape) => (shape.includes(0) ? [] : blocksOf(shape, maxDim)));
  const memory = merged.map((shape, s) => {
    const size = shape.reduce((product, x) => product * x, 1);
    return {
      filtered: new Array<number>(size).fill(0),
      graft: new Array<number>(size).fill(0),
      m: new Array<number>(size).fill(0),
      blocks: cut[s]!.map(({ sizes }) => ({
        factors: sizes.map((n) => zeros(n)),
        roots: sizes.map((n) => identity(n)),
        bases: sizes.map((n) => identity(n)),
        waiting: [] as { at: number; roots: Matrix[] }[],
      })),
    };
  });
  return (params, grads, t) => {
    const rate = lr(t);
    for (const [s, p] of params.entries()) {
      const own = memory[s]!;
      const g = grads[s]!.map((x, i) => x + (decay === 'l2' ? weightDecay * p[i]! : 0));
      const u = g.map((x, i) => {
        const f = own.filtered[i]!;
        own.filtered[i] = beta1 * f + (1 - beta1) * x;
        return beta1 === 0 ? x : (beta3 * f + (1 - beta3) * x) / (1 - beta3 * beta1 ** (t - 1));
      });
      const d = u.map((x, i) => {
        const square = g[i]! ** 2;
        if (grafting === 'none' || grafting === 'sgd') return x;
        own.graft[i] =
          grafting === 'adagrad'
            ? own.graft[i]! + square
            : graftingBeta * own.graft[i]! + (1 - graftingBeta) * square;
        const corrected =
          grafting === 'adam' ? own.graft[i] / (1 - graftingBeta ** t) : own.graft[i];
        return x / (Math.sqrt(corrected) + graftingEps);
      });
      const step = [...d];
      for (const [b, { sizes, at }] of cut[s]!.entries()) {
        const block = own.blocks[b]!;
        const pick = (list: readonly number[]): Block => ({ sizes, data: at.map((k) => list[k]!) });
        block.factors = block.factors.map((l, k) =>
          combined(l, beta2, gram(pick(g), k), beta2 === 1 ? 1 : 1 - beta2),
        );
        if (t >= start && (t - start) % frequency === 0) {
          const correction = beta2 === 1 ? 1 : 1 - beta2 ** t;
          const roots = block.factors.map((l, k) => {
            let now = l.map((row) => row.map((x) => x / correction));
            if (traceScaling) {
              const trace = now.reduce((sum, row, i) => sum + row[i]!, 0);
              now = now.map((row) => row.map((x) => x / Math.sqrt(trace)));
            }
            const power = (value: number): number =>
              (Math.max(value, 0) + eps) ** (-1 / (2 * sizes.length));
            if (!qr || t === start) {
              block.bases[k] = jacobi(now).vectors;
              return ofSymmetric(now, power);
            }
            const turned = times(transposed(block.bases[k]!), times(now, block.bases[k]!));
            const order = turned.map((_, i) => i).sort((i, j) => turned[j]![j]! - turned[i]![i]!);
            const ordered = block.bases[k]!.map((row) => order.map((i) => row[i]!));
            const q = orthonormal(times(now, ordered));
            block.bases[k] = q;
            const values = times(transposed(q), times(now, q)).map((row, i) => row[i]!);
            return times(
              q.map((row) => row.map((x, j) => x * power(values[j]!))),
              transposed(q),
            );
          });
          block.waiting.push({ at: t + delay, roots });
        }
        while (block.waiting[0]?.at === t) block.roots = block.waiting.shift()!.roots;
        if (grafting !== 'none' && t < start + delay) continue;
        let turned = pick(u);
        for (const [k, root] of block.roots.entries()) turned = along(turned, root, k);
        const scale =
          grafting === 'none'
            ? 1
            : Math.hypot(...pick(d).data) / (Math.hypot(...turned.data) + 1e-16);
        for (const [k, x] of turned.data.entries()) step[at[k]!] = scale * x;
      }
      for (const [i, x] of step.entries()) {
        const share =
          decay === 'l2'
            ? 0
            : decay === 'corrected'
              ? (weightDecay * rate) / peakLr
              : decay === 'independent'
                ? weightDecay / peakLr
                : weightDecay;
        const along = x + share * p[i]!;
        own.m[i] = momentum * own.m[i]! + (1 - dampening) * along;
        p[i]! -=
          rate * (momentum === 0 ? along : nesterov ? along + momentum * own.m[i] : own.m[i]);
      }
    }
  };
}
