import {
  abs,
  isNonNegative,
  pow,
  sub,
  variable,
  variables,
  type RealExpr,
} from '@mercer/formula/plan';
import { cudaType } from '../../emit/literals.js';
import { cudaHelpers, type CudaHelper } from '../../emit/cuda-math.js';
import { emitCudaExpression } from '../../emit/cuda-expression.js';
import { cpp, lines } from '../../emit/text.js';
import { readValue, renameParameters, valueFunction, splitUniforms } from './parameters.js';
import type { PairStep } from '../../pair-tile/cuda/pair-arithmetic.js';
import { absoluteStep, accuratePowerStep, eitherPowerStep, fastPowerStep } from './power-step.js';
import type { CudaPairwisePlan, PairArithmeticPlan } from '../plan-types.js';

const a = variable('a');
const b = variable('b');
const distance = abs(sub(a, b));
const power = pow(distance, variable('p'));

/** Chooses the form of the pair's arithmetic from the plan's inner expression. */
export function pairStep(plan: PairArithmeticPlan): PairStep {
  const inner = plan.inner;
  if (plan.dtype === 'float32' && plan.reduce === 'sum') {
    if (inner === distance) return absoluteStep();
    if (inner === power && plan.power !== undefined) {
      const { exponent } = renameParameters(inner, plan);
      if (exponent !== undefined) return eitherPowerStep(readValue(exponent, 'layer'));
      return plan.power === 'accurate' ? accuratePowerStep() : fastPowerStep();
    }
  }
  return generalStep(plan, inner);
}

/** Any expression, printed as it is. */
function generalStep(plan: PairArithmeticPlan, inner: RealExpr): PairStep {
  const type = cudaType(plan.dtype);
  const split = splitUniforms(inner, plan, 'StepUniforms');
  const usesP = split === undefined && variables(inner).includes('p');
  const [rows, columns] = plan.swapped ? ['b', 'a'] : ['a', 'b'];
  const text = emitCudaExpression(split?.expr ?? inner, {
    dtype: plan.dtype,
    bindings: { [rows]: 'x', [columns]: 'y' },
    uniform: ['p'],
    positive: ['p'],
    ...split?.options,
    approximateRoots: true,
  });
  const helpers = new Set(text.helpers);
  if (plan.reduce === 'max') helpers.add('max');
  const combine = (x: string, y: string): string =>
    plan.reduce === 'max' ? `max_nan(${x}, ${y})` : `${x} + ${y}`;
  const uniforms = split === undefined ? '' : `, const ${split.type}& uniforms`;
  return {
    helpers,
    functions: `${split === undefined ? '' : `${split.text}\n`}__device__ __forceinline__ ${type} accumulate(${type} total, ${type} x, ${type} y${usesP ? ', double p' : ''}${uniforms}) {
${(split?.locals ?? [])
  .concat(text.uniformStatements, text.statements)
  .map((line) => `  ${line}`)
  .join('\n')}
  return ${combine('total', text.result)};
}`,
    setup: split === undefined ? '' : `const ${split.type} stepUniforms = ${split.value('layer')};`,
    ...(split === undefined ? {} : { perLayer: true }),
    step: (total, x, y) =>
      `accumulate(${total}, ${x}, ${y}${usesP ? ', p' : ''}${split === undefined ? '' : ', stepUniforms'})`,
    combine,
    issueSlots: text.issueSlots + 1,
    special: text.special,
  };
}

/** The outer expression as a device function, and how a kernel calls it. */
export interface FinishFunction {
  readonly text: string;
  readonly helpers: ReadonlySet<CudaHelper>;
  readonly issueSlots: number;
  /** A call, as text. */
  readonly call: (value: string) => string;
  /** Locals that calls need, for a batch entry; '' where there are none. */
  readonly setup: (layer: string) => string;
}

/** The outer expression as a device function `finish(s, p)`, with what it needs. */
export function finishFunction(plan: CudaPairwisePlan): FinishFunction {
  const type = cudaType(plan.dtype);
  const outer = plan.outer;
  const split = splitUniforms(outer, plan, 'FinishUniforms');
  const options = { uniform: ['p'], positive: ['p'], ...split?.options };
  // a sum or maximum of non-negative terms is non-negative; one of products is not
  const reduced = isNonNegative(plan.inner) ? ['s'] : [];
  const text = emitCudaExpression(split?.expr ?? outer, {
    dtype: plan.dtype,
    bindings: { s: 's' },
    ...options,
    nonNegative: [...reduced, ...(split?.options.nonNegative ?? [])],
  });
  const argument = split === undefined ? 'double p' : `const ${split.type}& uniforms`;
  return {
    text: cpp`
      ${split?.text}
      __device__ __forceinline__ ${type} finish(${type} s, ${argument}) {
      ${(split?.locals ?? []).concat(text.uniformStatements, text.statements).map((line) => `  ${line}`)}
        return ${text.result};
      }
    `,
    helpers: new Set(text.helpers),
    issueSlots: text.issueSlots,
    call: (value) => `finish(${value}, ${split === undefined ? 'p' : 'finishUniforms'})`,
    setup: (layer) =>
      split === undefined ? '' : `const ${split.type} finishUniforms = ${split.value(layer)};`,
  };
}

/** Helpers, step and epilogue: the functions in front of every kernel of a plan. */
export function pairFunctions(plan: CudaPairwisePlan, step: PairStep): string {
  const finish = finishFunction(plan);
  return lines(
    cudaHelpers(new Set([...step.helpers, ...finish.helpers]), plan.dtype),
    plan.parameters !== undefined && valueFunction(plan.dtype),
    step.functions,
    finish.text,
  );
}

/** The locals that a batch entry's step and epilogue need, as lines of a kernel; `layer` is in scope. */
export const layerSetup = ({ perLayer, setup }: PairStep, finish: FinishFunction): string =>
  [perLayer === true ? setup : '', finish.setup('layer')]
    .map((text) => (text === '' ? '' : `  ${text}\n`))
    .join('');
