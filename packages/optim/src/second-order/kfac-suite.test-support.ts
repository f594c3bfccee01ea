import { tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { kfac, lossScale, type KfacOptions, type LayerStatistics } from '../index.js';
import {
  combined,
  identity,
  jacobi,
  solved,
  times,
  transposed,
  zeros as zerosOf,
  type Matrix,
} from './jacobi.test-support.js';

const wave = (k: number): number => Math.sin(1.7 * k + 0.3) + 0.25 * Math.cos(0.37 * k * k);
const waves = (size: number, seed: number): number[] =>
  Array.from({ length: size }, (_, i) => wave(3 * i + 17 * seed));

/** A linear layer with a bias and a sequence axis, one without both, a convolution with a bias, one that is like the first, and two parameters that are no layer's. */
const SHAPES = {
  w1: [3, 4],
  b1: [3],
  w2: [2, 3],
  w3: [2, 2, 2, 3],
  b3: [2],
  w4: [3, 4],
  b4: [3],
  scale: [],
  none: [0, 2],
} as const;
type Name = keyof typeof SHAPES;
const NAMES = Object.keys(SHAPES) as Name[];
const PLAIN = ['scale', 'none'];
const sizeOf = (shape: readonly number[]): number => shape.reduce((product, x) => product * x, 1);

type Values = Record<Name, number[]>;
const valuesAt = (seed: number): Values =>
  Object.fromEntries(
    NAMES.map((name, at) => [name, waves(sizeOf(SHAPES[name]), seed + at)]),
  ) as Values;

const COUNT = 5;
const [HEIGHT, WIDTH] = [4, 5];
const WINDOW = { kernel: [2, 3], stride: [2, 1], padding: [1, 0], dilation: [3, 1] } as const;
const PLACES = [2, 3] as const;

/** Inputs and output gradients of a step, by layer. */
const seen = (step: number) => ({
  w1: { x: waves(COUNT * 2 * 4, 100 + step), g: waves(COUNT * 2 * 3, 200 + step) },
  w2: { x: waves(COUNT * 3, 300 + step), g: waves(COUNT * 2, 400 + step) },
  w3: {
    x: waves(COUNT * 2 * HEIGHT * WIDTH, 500 + step),
    g: waves(COUNT * 2 * PLACES[0] * PLACES[1], 600 + step),
  },
  w4: { x: waves(COUNT * 2 * 4, 700 + step), g: waves(COUNT * 2 * 3, 800 + step) },
});

type Where = { readonly device: Device; readonly dtype: 'float32' | 'float64' };

const made = (
  values: readonly number[],
  shape: readonly number[],
  where: Where,
): PromiseLike<Tensor> => tensor(Float64Array.from(values), { shape: [...shape], ...where });

async function treeOf(values: Values, where: Where): Promise<Record<Name, Tensor>> {
  const entries = NAMES.map(
    async (name) => [name, await made(values[name], SHAPES[name], where)] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<Name, Tensor>;
}

/** @param scale of the loss whose gradients they are */
async function statisticsOf(step: number, where: Where, scale: number): Promise<LayerStatistics[]> {
  const { w1, w2, w3, w4 } = seen(step);
  for (const { g } of [w1, w2, w3, w4]) g.forEach((x, i) => (g[i] = x * scale));
  const places = [...PLACES];
  return [
    {
      kind: 'linear',
      weight: 'w1',
      bias: 'b1',
      inputs: await made(w1.x, [COUNT, 2, 4], where),
      outputGradients: await made(w1.g, [COUNT, 2, 3], where),
    },
    {
      kind: 'linear',
      weight: 'w2',
      inputs: await made(w2.x, [COUNT, 3], where),
      outputGradients: await made(w2.g, [COUNT, 2], where),
    },
    {
      kind: 'conv2d',
      weight: 'w3',
      bias: 'b3',
      window: WINDOW,
      inputs: await made(w3.x, [COUNT, 2, HEIGHT, WIDTH], where),
      outputGradients: await made(w3.g, [COUNT, 2, ...places], where),
    },
    {
      kind: 'linear',
      weight: 'w4',
      bias: 'b4',
      inputs: await made(w4.x, [COUNT, 2, 4], where),
      outputGradients: await made(w4.g, [COUNT, 2, 3], where),
    },
  ];
}

function disposeStatistics(statistics: readonly LayerStatistics[]): void {
  for (const { inputs, outputGradients } of statistics) {
    inputs.dispose();
    outputGradients.dispose();
  }
}

/** Rows that a weight is multiplied with at each place, and the rows of gradients. */
function rowsOf(
  step: number,
): Record<'w1' | 'w2' | 'w3' | 'w4', { a: Matrix; g: Matrix; places: number }> {
  const { w1, w2, w3, w4 } = seen(step);
  const cut = (values: readonly number[], width: number): Matrix =>
    Array.from({ length: values.length / width }, (_, i) =>
      values.slice(i * width, (i + 1) * width),
    );
  const [a, g]: [Matrix, Matrix] = [[], []];
  for (let n = 0; n < COUNT; n++) {
    for (let y = 0; y < PLACES[0]; y++) {
      for (let x = 0; x < PLACES[1]; x++) {
        const patch: number[] = [];
        for (let c = 0; c < 2; c++) {
          for (let i = 0; i < 2; i++) {
            for (let j = 0; j < 3; j++) {
              const [row, column] = [2 * y + 3 * i - 1, x + j];
              const at = ((n * 2 + c) * HEIGHT + row) * WIDTH + column;
              patch.push(row < 0 || row >= HEIGHT || column >= WIDTH ? 0 : w3.x[at]!);
            }
          }
        }
        a.push([...patch, 1]);
        g.push([0, 1].map((o) => w3.g[((n * 2 + o) * PLACES[0] + y) * PLACES[1] + x]!));
      }
    }
  }
  return {
    w1: { a: cut(w1.x, 4).map((row) => [...row, 1]), g: cut(w1.g, 3), places: 2 },
    w2: { a: cut(w2.x, 3), g: cut(w2.g, 2), places: 1 },
    w3: { a, g, places: 6 },
    w4: { a: cut(w4.x, 4).map((row) => [...row, 1]), g: cut(w4.g, 3), places: 2 },
  };
}

const scaledBy = (a: Matrix, x: number): Matrix => a.map((row) => row.map((one) => x * one));
const trace = (a: Matrix): number => a.reduce((sum, row, i) => sum + row[i]!, 0);
const damped = (a: Matrix, x: number): Matrix => combined(a, 1, identity(a.length), x);
const inverse = (a: Matrix): Matrix => solved(a, identity(a.length));

/** The loss of a test of adaptive damping, which is not the quadratic model's. */
const lossOf = (values: Values): number =>
  NAMES.reduce((sum, name) => sum + values[name].reduce((s, x) => s + Math.cosh(x), 0), 0);

/** Martens and Grosse 2015 and Grosse and Martens 2016, layer by layer. */
function reference(options: KfacOptions) {
  const {
    lr = 1e-2,
    factorBeta = 0.95,
    frequency = 5,
    start = 1,
    delay = 0,
    momentum = 0,
  } = options;
  const {
    normConstraint = Infinity,
    weightDecay = 0,
    inverse: kind = 'factored',
    minDamping = 1e-8,
  } = options;
  const state = { damping: options.damping ?? 1e-3, loss: NaN, modelled: NaN };
  const layers = (
    [
      ['w1', 'b1'],
      ['w2', undefined],
      ['w3', 'b3'],
      ['w4', 'b4'],
    ] as const
  ).map(([weight, bias]) => {
    const [outputs, ...rest] = SHAPES[weight];
    const columns = sizeOf(rest) + (bias === undefined ? 0 : 1);
    return {
      weight,
      bias,
      outputs,
      columns,
      a: zerosOf(columns),
      g: zerosOf(outputs),
      solve: (m: Matrix): Matrix => m,
      waiting: [] as { at: number; solve: (m: Matrix) => Matrix }[],
    };
  });
  const m = valuesAt(0);
  for (const name of NAMES) m[name].fill(0);
  const adapt = (next: number): void => {
    const ratio = (next - state.loss) / state.modelled;
    const omega = 0.9 ** 5;
    if (ratio > 0.75) state.damping *= omega;
    else if (!(ratio >= 0.25)) state.damping /= omega;
    state.damping = Math.max(state.damping, minDamping);
  };
  const isAdapted = (t: number): boolean =>
    options.adaptiveDamping === true && t >= start + delay && t % 5 === 0;
  const take = (params: Values, grads: Values, t: number, evaluates: boolean): void => {
    const rate = typeof lr === 'function' ? lr(t) : Number(lr);
    if (!evaluates && isAdapted(t - 1)) adapt(lossOf(params));
    const rows = rowsOf(t);
    const u = valuesAt(0);
    let product = 0;
    for (const layer of layers) {
      const { a, g, places } = rows[layer.weight];
      const one = scaledBy(times(transposed(a), a), 1 / COUNT);
      const other = scaledBy(times(transposed(g), g), COUNT / places);
      layer.a = combined(layer.a, factorBeta, one, 1 - factorBeta);
      layer.g = combined(layer.g, factorBeta, other, 1 - factorBeta);
      if (t >= start && (t - start) % Number(frequency) === 0) {
        const correction = 1 / (1 - factorBeta ** t);
        const [aNow, gNow] = [scaledBy(layer.a, correction), scaledBy(layer.g, correction)];
        const root = Math.sqrt(state.damping);
        if (kind === 'factored') {
          const pi = Math.sqrt(trace(aNow) / layer.columns / (trace(gNow) / layer.outputs));
          const [aInverse, gInverse] = [
            inverse(damped(aNow, pi * root)),
            inverse(damped(gNow, root / pi)),
          ];
          layer.waiting.push({ at: t + delay, solve: (x) => times(gInverse, times(x, aInverse)) });
        } else {
          const [left, right] = [jacobi(gNow), jacobi(aNow)];
          const solve = (x: Matrix): Matrix => {
            const turned = times(transposed(left.vectors), times(x, right.vectors));
            const divided = turned.map((row, i) =>
              row.map(
                (y, j) =>
                  y /
                  (Math.max(left.values[i]!, 0) * Math.max(right.values[j]!, 0) + state.damping),
              ),
            );
            return times(left.vectors, times(divided, transposed(right.vectors)));
          };
          layer.waiting.push({ at: t + delay, solve });
        }
      }
      while (layer.waiting[0]?.at === t) layer.solve = layer.waiting.shift()!.solve;
    }
    if (t < start + delay) return;
    const gradients = Object.fromEntries(
      NAMES.map((name) => [name, grads[name].map((x, i) => x + weightDecay * params[name][i]!)]),
    ) as Values;
    for (const name of NAMES) u[name] = [...gradients[name]];
    for (const { weight, bias, outputs, columns, solve } of layers) {
      const inputs = columns - (bias === undefined ? 0 : 1);
      const matrix = Array.from({ length: outputs }, (_, i) => [
        ...gradients[weight].slice(i * inputs, (i + 1) * inputs),
        ...(bias === undefined ? [] : [gradients[bias][i]!]),
      ]);
      const turned = solve(matrix);
      turned.forEach((row, i) => {
        row.slice(0, inputs).forEach((x, j) => (u[weight][i * inputs + j] = x));
        if (bias !== undefined) u[bias][i] = row[inputs]!;
        row.forEach((x, j) => (product += x * matrix[i]![j]!));
      });
    }
    const nu = Math.min(1, Math.sqrt(normConstraint / (rate ** 2 * product)));
    const alpha = rate * nu;
    if (isAdapted(t)) {
      state.loss = lossOf(params);
      state.modelled = alpha * (alpha / 2 - 1) * product;
    }
    for (const name of NAMES) {
      params[name] = params[name].map((x, i) => {
        m[name][i] = momentum * m[name][i]! + nu * u[name][i]!;
        return x - rate * m[name][i];
      });
    }
    if (evaluates && isAdapted(t)) adapt(lossOf(params));
  };
  return { take, state };
}

const gradsAt = (params: Values, step: number): Values =>
  Object.fromEntries(
    NAMES.map((name, s) => [
      name,
      params[name].map((x, i) => Math.sinh(x) + 0.1 * wave(step * 31 + i + 5 * s)),
    ]),
  ) as Values;

const CASES: readonly KfacOptions[] = [
  { lr: 0.05, damping: 0.1 },
  {
    lr: (t) => 0.2 / t,
    damping: 0.05,
    factorBeta: 0.8,
    frequency: 1,
    weightDecay: 0.1,
    momentum: 0.5,
  },
  { lr: 0.5, damping: 0.1, normConstraint: 1e-2, frequency: 3, start: 2, delay: 2 },
  { lr: 0.05, damping: 0.1, inverse: 'exact' },
  { lr: 0.1, damping: 0.1, adaptiveDamping: true, frequency: 2, delay: 1 },
  { lr: 0.1, damping: 0.1, adaptiveDamping: true, minDamping: 0.08, inverse: 'exact' },
];

/** K-FAC, tested on any device. */
export function kfacSuite(name: string, on: () => Device): void {
  const run = async (
    options: KfacOptions,
    dtype: 'float32' | 'float64',
    within: number,
    evaluates: boolean,
    isScaled = false,
  ): Promise<void> => {
    const where = { device: on(), dtype };
    const plain = kfac({ ...options, plain: PLAIN });
    // the scale grows within the steps
    const optimiser = isScaled ? lossScale(plain, { initial: 512, growth: 4, interval: 3 }) : plain;
    const wanted = valuesAt(1);
    const { take, state: told } = reference(options);
    const params = await treeOf(wanted, where);
    using state = await optimiser.init(params);
    const readTree = async (tree: Record<Name, Tensor>): Promise<Values> => {
      const read = NAMES.map(async (one) => [
        one,
        Array.from(await tree[one].toTypedArray(), Number),
      ]);
      return Object.fromEntries(await Promise.all(read)) as Values;
    };
    for (let t = 1; t <= 20; t++) {
      const at = gradsAt(wanted, t);
      const scale = isScaled ? Number(await state.tensors.get('lossScale')?.item()) : 1;
      const scaled = NAMES.map((one) => [one, at[one].map((x) => x * scale)] as const);
      const grads = await treeOf(Object.fromEntries(scaled) as Values, where);
      const statistics = await statisticsOf(t, where, scale);
      using value = await tensor(lossOf(wanted), where);
      const { skipped } = await optimiser.step(params, grads, state, {
        statistics,
        ...(options.adaptiveDamping && { value }),
        ...(evaluates && {
          evaluate: async (tree) => ({
            value: await tensor(lossOf(await readTree(tree)), where),
            grad: await zeros([1], where),
          }),
        }),
      });
      expect(await skipped.item()).toBe(0);
      skipped.dispose();
      disposeStatistics(statistics);
      for (const one of Object.values(grads)) one.dispose();
      take(wanted, at, t, evaluates);
      const found = await readTree(params);
      for (const one of NAMES) {
        for (const [i, x] of wanted[one].entries()) {
          const error = Math.abs(found[one][i]! - x);
          if (error <= within * Math.max(1, Math.abs(x))) continue;
          expect.fail(`step ${t}, ${one}[${i}]: ${found[one][i]} for ${x}`);
        }
      }
      const damping = Number(await state.tensors.get('damping')?.item());
      expect(Math.abs(damping / told.damping - 1)).toBeLessThan(1e-6);
    }
    for (const one of Object.values(params)) one.dispose();
  };

  describe(`kfac on ${name}`, () => {
    describe.each(CASES)('%o', (options) => {
      it('takes the steps of the formulas in float64', () => run(options, 'float64', 1e-10, false));
      it('takes them in float32', () => run(options, 'float32', 1e-4, false));
      if (options.adaptiveDamping !== true) {
        it('takes the same where the loss is scaled', () =>
          run(options, 'float64', 1e-10, false, true));
        return;
      }
      it('adapts its damping by evaluate, in its own step', () =>
        run(options, 'float64', 1e-10, true));
    });
  });
}
