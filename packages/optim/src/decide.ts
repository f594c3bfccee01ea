import {
  add,
  constant,
  div,
  eq,
  ge,
  gt,
  lt,
  min,
  max,
  mul,
  select,
  sqrt,
  sub,
  substitute,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { map, type Tensor } from '@mercer/tensor';
import { totals } from '@mercer/tensor/operation';
import { BAD, SQUARES } from './measure.js';
import type { StepNumbers } from './rule.js';
import type { DeviceNumber } from './update.js';

/** How a loss is scaled so that float16 holds its gradients. */
export interface LossScaling {
  readonly initial: number;
  /** What it is multiplied by after `interval` good steps in a row. */
  readonly growth: number;
  /** What it is multiplied by where a gradient overflows. */
  readonly backoff: number;
  readonly interval: number;
}

/** Scales stay in these bounds, so that neither they nor their inverses are infinite. */
const [LEAST_SCALE, LARGEST_SCALE] = [2 ** -24, 2 ** 60];

/** What is decided of a step on the device. */
export interface Decision {
  readonly numbers: Readonly<Record<string, DeviceNumber>> & { readonly ok: DeviceNumber };
  /** int32, 1 where nothing is written. */
  readonly skipped: Tensor;
  dispose(): void;
}

/** What a decision goes by. */
export interface Deciding {
  /** `count` and `skips`; `lossScale` and `goodSteps` with a scale of the loss. They are written. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** Gradients that are looked at; undefined where they are taken as they are. */
  readonly measured: readonly Tensor[] | undefined;
  readonly skips: boolean;
  readonly maxGradNorm: number | undefined;
  readonly lossScaling: LossScaling | undefined;
  readonly numbers: StepNumbers;
  readonly dtypes: ReadonlySet<'float32' | 'float64'>;
}

const v = variable;

/** The formulas of decisions, by what decides their text: interned texts live as long as somebody holds them. */
const known = new WeakMap<object, Map<string, Readonly<Record<string, RealExpr>>>>();

function formulasOf(deciding: Deciding): Readonly<Record<string, RealExpr>> {
  const { measured, skips, maxGradNorm, lossScaling, numbers } = deciding;
  const key = [
    skips,
    measured !== undefined,
    maxGradNorm !== undefined,
    lossScaling !== undefined,
  ].join();
  let ofNumbers = known.get(numbers.formulas);
  if (ofNumbers === undefined)
    known.set(
      numbers.formulas,
      (ofNumbers = new Map<string, Readonly<Record<string, RealExpr>>>()),
    );
  let found = ofNumbers.get(key);
  if (found !== undefined) return found;
  // a norm beyond float64 is as good as infinite: nothing can be clipped by it
  const hasNorm =
    maxGradNorm === undefined ? constant(1) : select(lt(v('squares'), Infinity), 1, 0);
  const ok = skips ? select(eq(v('bad'), 0), hasNorm, 0) : constant(1);
  const unscale: RealExpr = lossScaling === undefined ? constant(1) : div(1, v('scale'));
  const norm = mul(sqrt(v('squares')), unscale);
  const clip: RealExpr =
    maxGradNorm === undefined
      ? constant(1)
      : select(gt(norm, v('maxGradNorm')), div(v('maxGradNorm'), norm), 1);
  const t = add(v('count'), 1);
  const good = add(v('good'), 1);
  const grows = ge(good, v('interval'));
  found = {
    count: add(v('count'), ok),
    skips: add(v('skips'), sub(1, ok)),
    skipped: sub(1, ok),
    ...(lossScaling && {
      number_unscale: unscale,
      good: select(gt(ok, 0), select(grows, 0, good), 0),
      scale: select(
        gt(ok, 0),
        select(grows, min(mul(v('scale'), v('growth')), LARGEST_SCALE), v('scale')),
        max(mul(v('scale'), v('backoff')), LEAST_SCALE),
      ),
    }),
    number_ok: ok,
    ...((lossScaling ?? maxGradNorm) !== undefined && { number_factor: mul(clip, unscale) }),
    ...Object.fromEntries(
      Object.entries(numbers.formulas).map(([name, one]) => [
        `number_${name}`,
        substitute(one, { t }),
      ]),
    ),
  };
  ofNumbers.set(key, found);
  return found;
}

const PREFIX = 'number_';

/** Decides on the device whether a step is taken, and computes its numbers: one launch, which looks at all gradients too. */
export async function decide(deciding: Deciding): Promise<Decision> {
  const { tensors, measured, maxGradNorm, lossScaling, numbers, dtypes } = deciding;
  const tensor = (name: string): Tensor => tensors.get(name) as Tensor;
  const all = formulasOf(deciding);
  const formulas: Record<string, RealExpr> = {};
  const dtype: Record<string, 'float32' | 'float64' | 'int32'> = { skipped: 'int32' };
  // one result of float64, so that all is computed in it
  const wide = new Set([...dtypes, 'float64' as const]);
  for (const [name, one] of Object.entries(all)) {
    if (!name.startsWith(PREFIX)) {
      formulas[name] = one;
      continue;
    }
    for (const each of name === 'number_ok' ? wide : dtypes) {
      formulas[`${name}_${each}`] = one;
      dtype[`${name}_${each}`] = each;
    }
  }
  const scaling = lossScaling && { scale: tensor('lossScale'), good: tensor('goodSteps') };
  const inputs = {
    count: tensor('count'),
    skips: tensor('skips'),
    ...scaling,
    ...numbers.inputs,
  };
  const options = {
    out: { count: tensor('count'), skips: tensor('skips'), ...scaling },
    dtype,
    parameters: {
      ...(maxGradNorm !== undefined && { maxGradNorm }),
      ...(lossScaling && {
        growth: lossScaling.growth,
        backoff: lossScaling.backoff,
        interval: lossScaling.interval,
      }),
      ...numbers.parameters,
    },
  };
  const terms = maxGradNorm === undefined ? BAD : SQUARES;
  const made: Readonly<Record<string, Tensor>> =
    measured === undefined
      ? await map(formulas, inputs, options)
      : await totals({ terms, results: formulas }, measured, { numbers: inputs, ...options });
  const found: Record<string, DeviceNumber> = {};
  for (const name of Object.keys(all).filter((one) => one.startsWith(PREFIX))) {
    found[name.slice(PREFIX.length)] = {
      float32: made[`${name}_float32`],
      float64: made[`${name}_float64`],
    };
  }
  return {
    numbers: found as Decision['numbers'],
    skipped: made['skipped'] as Tensor,
    dispose() {
      for (const one of Object.values(found)) {
        one.float32?.dispose();
        one.float64?.dispose();
      }
    },
  };
}
