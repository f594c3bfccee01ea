import type { Reference } from '../testing/trajectory.test-support.js';

/** Optimisers in float64, each element by itself, from the published formulas. */

const each = (
  params: number[][],
  grads: readonly number[][],
  move: (p: number, g: number, s: number, i: number) => number,
): void => {
  for (const [s, one] of params.entries()) {
    for (const [i, p] of one.entries()) one[i] = move(p, grads[s]?.[i] ?? NaN, s, i);
  }
};

/** An array for what is remembered of each element. */
const memory = (): ((s: number, i: number, next?: number) => number) => {
  const kept = new Map<string, number>();
  return (s, i, next) => {
    if (next !== undefined) kept.set(`${s} ${i}`, next);
    return kept.get(`${s} ${i}`) ?? 0;
  };
};

/** Sutskever et al. 2013, with torch's first momentum. */
export function sgdReference({
  lr = 1e-3,
  momentum = 0,
  dampening = 0,
  nesterov = false,
  weightDecay = 0,
  decoupled = false,
}): Reference {
  const v = memory();
  return (params, grads, t) => {
    each(params, grads, (p, g, s, i) => {
      const gradient = decoupled ? g : g + weightDecay * p;
      const start = decoupled ? p - lr * weightDecay * p : p;
      if (momentum === 0) return start - lr * gradient;
      const next = t === 1 ? gradient : momentum * v(s, i) + (1 - dampening) * gradient;
      v(s, i, next);
      return start - lr * (nesterov ? gradient + momentum * next : next);
    });
  };
}

/** Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2. */
export function adamReference({
  lr = (_t: number): number => 1e-3,
  betas = [0.9, 0.999] as readonly [number, number],
  eps = 1e-8,
  weightDecay = 0,
  decoupled = false,
}): Reference {
  const [m, v] = [memory(), memory()];
  const [beta1, beta2] = betas;
  return (params, grads, t) => {
    each(params, grads, (p, g, s, i) => {
      const gradient = decoupled ? g : g + weightDecay * p;
      const first = m(s, i, beta1 * m(s, i) + (1 - beta1) * gradient);
      const second = v(s, i, beta2 * v(s, i) + (1 - beta2) * gradient ** 2);
      const [mHat, vHat] = [first / (1 - beta1 ** t), second / (1 - beta2 ** t)];
      const start = decoupled ? p - lr(t) * weightDecay * p : p;
      return start - (lr(t) * mHat) / (Math.sqrt(vHat) + eps);
    });
  };
}

type Matrix = readonly (readonly number[])[];

const product = (a: Matrix, b: Matrix): number[][] =>
  a.map((row) =>
    (b[0] ?? []).map((_, j) => row.reduce((sum, x, k) => sum + x * (b[k]?.[j] ?? NaN), 0)),
  );
const transposed = (a: Matrix): number[][] =>
  (a[0] ?? []).map((_, j) => a.map((row) => row[j] ?? NaN));
const combined = (a: number, x: Matrix, b: number, y: Matrix): number[][] =>
  x.map((row, i) => row.map((one, j) => a * one + b * (y[i]?.[j] ?? NaN)));

/** Jordan et al. 2024, of one matrix, with products in float64. */
export function muonReference({
  rows,
  columns,
  lr = 0.02,
  momentum = 0.95,
  nesterov = true,
  weightDecay = 0,
  scale = Math.sqrt(Math.max(1, rows / columns)),
}: {
  readonly rows: number;
  readonly columns: number;
  readonly lr?: number;
  readonly momentum?: number;
  readonly nesterov?: boolean;
  readonly weightDecay?: number;
  readonly scale?: number;
}): (p: number[], g: readonly number[]) => void {
  const m = new Array<number>(rows * columns).fill(0);
  return (p, g) => {
    const u = g.map((one, k) => {
      m[k] = (m[k] ?? 0) + (1 - momentum) * (one - (m[k] ?? 0));
      return nesterov ? one + momentum * ((m[k] ?? 0) - one) : (m[k] ?? 0);
    });
    const norm = Math.hypot(...u) + 1e-7;
    let x: number[][] = Array.from({ length: rows }, (_, i) =>
      u.slice(i * columns, (i + 1) * columns).map((one) => one / norm),
    );
    const isTall = rows > columns;
    if (isTall) x = transposed(x);
    for (let k = 0; k < 5; k++) {
      const gram = product(x, transposed(x));
      const polynomial = combined(-4.775, gram, 2.0315, product(gram, gram));
      x = combined(3.4445, x, 1, product(polynomial, x));
    }
    if (isTall) x = transposed(x);
    for (const [k, one] of x.flat().entries()) {
      p[k] = (1 - lr * weightDecay) * (p[k] ?? 0) - lr * scale * one;
    }
  };
}
