import {
  add,
  eq,
  exp,
  gt,
  le,
  lt,
  mul,
  select,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { owned } from '@mercer/autodiff/transform';
import { map, type Tensor } from '@mercer/tensor';
import {
  differentiable,
  pendingOf,
  spreadOver,
  zerosLike,
  type AnyCall,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';

/** How the losses of examples are made of scores. */
export interface ExampleLosses {
  /** Along which axis of the scores the classes lie. */
  readonly axis: number;
  /** What the target has of the same for all classes. */
  readonly smoothing: number;
}

type Arguments = readonly [
  scores: KnownValue,
  /** The logSumExp of the scores along the axis; undefined of scores that are logarithms of probabilities. */
  top: KnownValue | undefined,
  labels: KnownValue,
  /** Which examples count; undefined: all. */
  counts: KnownValue | undefined,
  how: ExampleLosses,
];

const v = variable;
/** NaN where there is no such class. */
const known = (x: RealExpr): RealExpr =>
  select(le(0, v('label')), select(lt(v('label'), v('classes')), x, NaN), NaN);
const counted = (x: RealExpr): RealExpr => select(gt(v('counts'), 0), x, 0);

const SHARES = {
  plain: v('chosen'),
  smoothed: add(mul(v('one'), v('chosen')), mul(sub(1, v('one')), v('mean'))),
};
/** What the target has of a class, c. */
const TARGET = add(select(eq(v('c'), v('label')), v('one'), 0), v('each'));
// a row of -Infinity alone has no probabilities that move
const PROBABILITY = exp(sub(v('x'), select(eq(v('top'), -Infinity), 0, v('top'))));
const SLOPES = { logits: sub(PROBABILITY, TARGET), logarithms: mul(-1, TARGET) };

/** Formulas by what there is: held, as they are compiled once for as long as they live. */
const FORMULAS = new Map<string, RealExpr>();
for (const [counting, kept] of [
  ['', known],
  [' counted', (x: RealExpr) => counted(known(x))],
] as const) {
  for (const [name, share] of Object.entries(SHARES)) {
    FORMULAS.set(`logits ${name}${counting}`, kept(sub(v('top'), share)));
    FORMULAS.set(`logarithms ${name}${counting}`, kept(mul(-1, share)));
  }
  for (const [name, slope] of Object.entries(SLOPES)) {
    FORMULAS.set(`slope of ${name}${counting}`, kept(mul(v('g'), slope)));
  }
}

/** Values of examples beside the classes of each. */
const asColumn = (x: KnownValue, shape: readonly number[], axis: number): Value =>
  x.reshape(shape.map((extent, at) => (at === axis ? 1 : extent)));

/** `top` less the scores by their targets. @param top undefined: 0 @param like what the scores are like, where nothing is known of them yet */
function losses(
  scores: KnownValue,
  top: KnownValue | undefined,
  labels: KnownValue,
  counts: KnownValue | undefined,
  { axis, smoothing }: ExampleLosses,
  like: KnownValue = scores,
): Value {
  const { shape, dtype } = like;
  const at = asColumn(labels, shape, axis) as unknown as Tensor<'int32'>;
  const chosen = scores.takeAlongAxis(at, axis).reshape(labels.shape);
  const [of, how] = [top ? 'logits' : 'logarithms', smoothing === 0 ? 'plain' : 'smoothed'];
  const inputs = {
    label: labels,
    chosen,
    ...(smoothing > 0 && { mean: scores.mean(axis) }),
    ...(top && { top }),
    ...(counts && { counts }),
  };
  return map(
    FORMULAS.get(`${of} ${how}${counts ? ' counted' : ''}`) as RealExpr,
    inputs as unknown as Readonly<Record<string, Tensor>>,
    {
      parameters: { one: 1 - smoothing, classes: shape[axis] ?? 0 },
      dtype: dtype === 'float64' ? 'float64' : 'float32',
    },
  );
}

const WHAT = 'the losses of examples';
/** What is computed between is disposed. */
const alone = owned(WHAT, async (...args: Arguments) => losses(...args));

/** The slopes by the scores, times a cotangent. */
function slopes(cotangent: KnownValue, [scores, top, labels, counts, how]: Arguments): Value {
  const { axis, smoothing } = how;
  const { shape } = scores;
  const classes = shape[axis] ?? 0;
  const column = (x: KnownValue): Value => asColumn(x, shape, axis);
  const inputs = {
    x: scores,
    label: column(labels),
    g: column(cotangent),
    ...(top && { top: column(top) }),
    ...(counts && { counts: column(counts) }),
  };
  return map(
    FORMULAS.get(
      `slope of ${top ? 'logits' : 'logarithms'}${counts ? ' counted' : ''}`,
    ) as RealExpr,
    inputs as unknown as Readonly<Record<string, Tensor>>,
    {
      indices: { c: axis },
      parameters: { one: 1 - smoothing, each: smoothing / Math.max(1, classes), classes },
      dtype: scores.dtype === 'float64' ? 'float64' : 'float32',
    },
  );
}

/**
 * `top - share` of each example, share being the sum of the scores by what the target has of each class; NaN where the label names none, and 0 where it does not count. By the scores its slope is softmax less the
 * target, one kernel: `top` has no share of the cotangent, as it is the logSumExp of the same scores. What it depends on is what the second derivative asks for.
 */
export const exampleLosses = differentiable<(...args: Arguments) => Value, Arguments>(
  WHAT,
  (...args) => pendingOf(async () => alone(...args) as Promise<Tensor>),
  {
    vjp: (cotangent, { args }) => [() => slopes(cotangent as KnownValue, args)],
    jvp: ([ofScores, ofTop], { args: [scores, , labels, counts, how] }) =>
      losses(
        (ofScores ?? zerosLike(scores)) as KnownValue,
        ofTop as KnownValue | undefined,
        labels,
        counts,
        how,
        scores,
      ),
  },
  ({ args: [scores, top, labels, counts, how], mapped, size, call }) => {
    const [ofScores, ofTop, ofLabels, ofCounts] = mapped;
    return (call as AnyCall)(
      spreadOver(scores, ofScores, size),
      top && spreadOver(top, ofTop, size),
      spreadOver(labels, ofLabels, size),
      counts && spreadOver(counts, ofCounts, size),
      { ...how, axis: how.axis + 1 },
    );
  },
);
