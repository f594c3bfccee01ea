import { normExpressions, type PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import {
  MercerError,
  type LoadOptions,
  type ShardOptions,
  type StreamOption,
  type Tensor,
} from '@mercer/tensor';
import {
  LOAD_OPTIONS,
  readOptions,
  SHARD_OPTIONS,
  STREAM_OPTION,
  callsWhenArrived,
} from '@mercer/tensor/operation';
import {
  backwardFunction,
  checkNames,
  type BackwardCall,
  type GradientOuts,
} from './backward-operation.js';
import type { BackwardSpec } from './backward-spec.js';
import { checkWrt } from './backward-wrt.js';
import type { BlockInput } from './blocks/blocked-backward.js';
import { gradientsInBlocks, isBlockedBackward } from './blocks/gradient-blocks.js';
import { checkNorm, type CdistOptions } from './cdist-options.js';
import { cdistSpec } from './cdist-spec.js';
import { assertValue } from './pair-derivatives.js';
import { refuseOptionsAsRows } from './optional-rows.js';
import type { BlockRows } from './rows-input.js';
import type {
  GradientOutsOf,
  GradientsIn,
  NoOuts,
  PreparedBackward,
} from './run-kernel-backward-options.js';

const WHAT = 'cdistBackward';

/** What `cdistBackward` differentiates by. */
export type CdistVariable = 'a' | 'b' | 'p';

/** Options of `cdistBackward`: those of the forward call, and what is wanted. */
export interface CdistBackwardOptions<
  W extends readonly CdistVariable[],
  D extends PairwiseDType = PairwiseDType,
  O = GradientOutsOf<W, D>,
>
  extends Pick<CdistOptions, 'p' | 'skipEpilogue'>, StreamOption, LoadOptions, ShardOptions {
  /** Default: ['a', 'b']. */
  readonly wrt?: W | undefined;
  /** What gradients are written to, by the names in wrt: tensors, and for a and b also what `cdist` takes as `out`. */
  readonly out?: O | undefined;
}

const CDIST_BACKWARD_OPTIONS: OptionNames<CdistBackwardOptions<readonly CdistVariable[]>> = {
  ...STREAM_OPTION,
  ...SHARD_OPTIONS,
  p: true,
  skipEpilogue: true,
  wrt: true,
  out: true,
  ...LOAD_OPTIONS,
};

/** How `cdistBackward` is called. */
export interface CdistBackward {
  <
    D extends PairwiseDType,
    const W extends readonly CdistVariable[] = readonly ['a', 'b'],
    O extends GradientOutsOf<W, D> = NoOuts,
  >(
    gradient: BlockRows<D>,
    a: BlockRows<NoInfer<D>>,
    b: BlockRows<NoInfer<D>>,
    options?: CdistBackwardOptions<W, NoInfer<D>, O>,
  ): Promise<GradientsIn<W, D, O>>;
  /** Compiles for tensors like these and gives a synchronous function: see PreparedBackward. */
  readonly prepare: <
    D extends PairwiseDType,
    const W extends readonly CdistVariable[] = readonly ['a', 'b'],
  >(
    gradient: Tensor<D>,
    a: Tensor<NoInfer<D>>,
    b: Tensor<NoInfer<D>>,
    options?: Omit<CdistBackwardOptions<W, NoInfer<D>>, keyof ShardOptions>,
  ) => Promise<PreparedBackward<W, D>>;
}

/**
 * Gradients of `cdist(a, b, { p, skipEpilogue })`: given `gradient` = dL/d(result), returns dL/da, dL/db and dL/dp as asked
 * for by `wrt`. It takes the inputs of the forward call, not its result: distances are computed again. On a GPU those of many
 * features are stored in scratch memory, up to 2 GiB of them; otherwise nothing of the size of the result is stored.
 *
 * With D the distance of a pair, `da[m, k] = sum_n gradient[m, n] sign(a - b) (|a - b| / D)^(p - 1)`. Conventions where no
 * derivative exists: a zero difference contributes exactly 0 for every p, and so does a pair at distance 0 (or below the
 * normal range); for p = Infinity all goes to the first k that attains the maximum; in dp, 0 log 0 is 0.
 *
 * Shapes: gradient (..., M, N), a (..., M, K), b (..., N, K), all of one dtype, float32 or float64, and one device; gradients
 * of inputs that were broadcast are summed over the broadcast axes. The same inputs give the same bits,
 * on a CPU under one executor (`MERCER_CPU`): by default a first call may be interpreted and the next run compiled kernels.
 *
 * Accuracy (float32, u = 2^-24): with r = |a - b| / D and D within e u (see `cdist`), each term is within
 * (8 + |p - 1| (2 + e + 1.5 |log2 r|)) u, and a sum of N terms adds (2 sqrt N + 4) u of the sum of their absolute values. The
 * terms of dp have p times the first, 16 u and the sum over K on top; a logarithm of r near 1 has the absolute error of r.
 *
 * `out` names tensors that gradients are written to, by the names in wrt. A kernel is compiled for each number of features. Rows that are not
 * row-major are copied first. `cdistBackward.prepare` compiles ahead:
 * `const prepared = await cdistBackward.prepare(gradient, a, b, { p: 1.3 }); const { a: da } = prepared(gradient, a, b);`
 *
 * With `devices`, `maxBytes` or `onProgress`, with rows or a gradient in host memory or of a file (`openNpy`), or with an `out` in host memory for a or
 * b, pairs of rows are gone through block by block, on one device or on several, as in `cdist`. Each block of `gradient` is read once. What blocks give is
 * added up in float64, in an order that the number of devices does not change, and written at the end: a call that ends early leaves `out` as it was,
 * and the sums of a and b take `8 K` bytes a row on each device. The results are on the first device. It has no gradients of its own then.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT (p; wrt; 'p' where p is Infinity),
 *   OVERLAP (out), DISPOSED, OUT_OF_MEMORY; nothing is written then
 *
 * @example
 * ```ts
 * import { tensor } from '@mercer/tensor';
 * import { cdistBackward } from '@mercer/pairwise';
 *
 * const a = await tensor([[0, 0]], { device: 'cpu' });
 * const b = await tensor([[3, 4]], { device: 'cpu' });
 * const upstream = await tensor([[1]], { device: 'cpu' });
 * const { a: da, p: dp } = await cdistBackward(upstream, a, b, { p: 2, wrt: ['a', 'p'] });
 * console.log(await da.toNested(), dp.shape); // [ [ -0.6, -0.8 ] ] []
 * ```
 */
export const cdistBackward = backwardFunction(WHAT, read, {
  takes: isInBlocks,
  compute: inBlocks,
}) as CdistBackward;

const VARIABLES = ['a', 'b', 'p'] as const;

function isInBlocks([gradient, a, b, given]: Given): boolean {
  return isBlockedBackward([gradient, a, b], given);
}

function inBlocks([gradient, a, b, given]: Given): Promise<unknown> {
  return callsWhenArrived([gradient, a, b], async ([g, x, y]) => {
    const {
      p,
      skipEpilogue,
      wrt = ['a', 'b'],
      ...options
    } = readOptions(WHAT, given, CDIST_BACKWARD_OPTIONS);
    const names = [...checkWrt(WHAT, wrt, VARIABLES)] as CdistVariable[];
    if (options.out !== undefined) checkNames(WHAT, names, options.out);
    refuseOptionsAsRows(WHAT, `${WHAT}(gradient, a, b, options)`, y);
    return gradientsInBlocks({
      ...options,
      what: WHAT,
      wrt: names,
      gradient: g as BlockInput,
      a: x as BlockInput,
      b: y as BlockInput,
      parameters: [],
      compute: ({ gradient: block, a: rows, b: columns, signal }) =>
        cdistBackward(block as never, rows as never, columns as never, {
          p,
          skipEpilogue,
          debug: options.debug,
          wrt: names,
          signal,
        }),
    });
  });
}

type Given = readonly [
  gradient: Tensor,
  a: Tensor,
  b: Tensor,
  options?: CdistBackwardOptions<readonly CdistVariable[]>,
];

/** What a call computes, of what, and how. @throws MercerError INVALID_ARGUMENT */
function read(what: string, [gradient, a, b, given]: Given): BackwardCall {
  const options = readOptions(what, given, CDIST_BACKWARD_OPTIONS);
  const { p = 2, skipEpilogue = false, wrt: names = ['a', 'b'] } = options;
  const { out, stream, debug, signal } = options;
  checkNorm(what, p);
  const wrt = [...checkWrt(what, names, VARIABLES)] as CdistVariable[];
  if (p === Infinity && wrt.includes('p')) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the derivative with respect to p is wanted at p = Infinity, where there is none. Leave p out of wrt.`,
    );
  }
  assertValue(gradient, `${what}: gradient`);
  assertValue(a, `${what}: a`);
  assertValue(b, `${what}: b`);
  const spec: BackwardSpec = {
    forward: { ...cdistSpec({ p, skipEpilogue }), what: WHAT },
    open: {
      expressions: normExpressions('runtime', { skipEpilogue }),
      parameters: [{ name: 'p', label: 'p', value: p }],
    },
    wrt: wrt.map((label) =>
      label === 'p'
        ? { label, kind: 'parameter', name: label, value: p }
        : { label, kind: label, name: undefined, value: undefined },
    ),
  };
  return {
    descriptor: {
      innerOperator: 'diff',
      innerPower: 'pow',
      outerPower: skipEpilogue ? 'none' : 'pow',
      kernel: 'none',
    },
    spec,
    tensors: [gradient, a, b],
    given: (label) => (label === 'p' ? p : undefined),
    options: { out: out as GradientOuts | undefined, stream, debug, signal },
  };
}
