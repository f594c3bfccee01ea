import { innerForm } from '../inner-form.js';
import type {
  ComponentsNode,
  ContractNode,
  InterleaveNode,
  PlaceNode,
  SliceNode,
  VectorExpr,
} from '../vector-expr.js';
import { call, type Printed } from './printed.js';

const COMBINE_NAMES = {
  sum: 'Sum',
  max: 'Max',
  min: 'Min',
  argmax: 'ArgMax',
  argmin: 'ArgMin',
} as const;

/** A sum or extremum of components. */
export function sumText({ combine }: ComponentsNode, args: readonly Printed[]): Printed {
  return call(COMBINE_NAMES[combine], args);
}

/** `Elem`, `ComplexReal`, `ComplexImag` or `Extract`. */
export function sliceText(
  { start, step, dim, args: [x] }: SliceNode,
  args: readonly Printed[],
): Printed {
  if (dim === 1) return call('Elem', [...args, start]);
  if (step === 2 && x!.dim === 2 * dim) {
    return call(start === 0 ? 'ComplexReal' : 'ComplexImag', args);
  }
  return call('Extract', [...args, start, dim, ...(step === 1 ? [] : [step])]);
}

/** `ElemT` or `ExtractT`. */
export function placeText(
  { start, step, dim, args: [x] }: PlaceNode,
  args: readonly Printed[],
): Printed {
  if (x!.dim === 1) return call('ElemT', [...args, dim, start]);
  return call('ExtractT', [...args, start, dim, ...(step === 1 ? [] : [step])]);
}

const isZero = (node: VectorExpr): boolean =>
  node.kind === 'zero' || (node.kind === 'literal' && Object.is(node.value, 0));

/** `Real2Complex`, `Imag2Complex` or `Interleave`. */
export function interleaveText(
  { args: [a, b, c] }: InterleaveNode,
  texts: readonly Printed[],
): Printed {
  if (c === undefined && isZero(b!)) return call('Real2Complex', [texts[0]!]);
  if (c === undefined && isZero(a!)) return call('Imag2Complex', [texts[1]!]);
  return call('Interleave', texts);
}

/** `MatVecMult`, `VecMatMult`, `TensorProd` or `TensorDot`. */
export function contractionText({ contraction }: ContractNode, args: readonly Printed[]): Printed {
  const { shapeF, shapeG, axesF, axesG, permutation } = contraction;
  const isOrdered = permutation.every((place, k) => place === k);
  const form = `${shapeF.length}${shapeG.length}:${axesF.join()}:${axesG.join()}`;
  const name = isOrdered ? SHORT[form] : undefined;
  if (name !== undefined) return call(name, args);
  const lists = [shapeF, shapeG, axesF, axesG, ...(isOrdered ? [] : [permutation])];
  return call('TensorDot', [...args, ...lists]);
}

const SHORT: Readonly<Record<string, string>> = {
  '21:1:0': 'MatVecMult',
  '12:0:0': 'VecMatMult',
  '11::': 'TensorProd',
};

/** How a short form is written. */
interface ShortForm {
  readonly name: string;
  readonly args: readonly VectorExpr[];
}

const INNER_NAMES = { dot: '|', squaredNorm: 'SqNorm2', squaredDistance: 'SqDist' } as const;

/**
 * The short form of a sum, or of the root of one, which reads back as the same node. Parts that are
 * named stay visible: a short form does not look into them.
 */
export function shortForm(node: VectorExpr, named: ReadonlySet<VectorExpr>): ShortForm | undefined {
  const inner = node.args[0];
  if (inner === undefined || named.has(inner)) return undefined;
  if (node.kind === 'elementwise' && node.op === 'sqrt') {
    const squares = shortForm(inner, named);
    return squares?.name === 'SqNorm2' ? { ...squares, name: 'Norm2' } : undefined;
  }
  const found = innerForm(node);
  if (found === undefined) return undefined;
  const difference = inner.args[0]!;
  if (found.form === 'squaredDistance' && named.has(difference)) {
    return { name: 'SqNorm2', args: [difference] };
  }
  return { name: INNER_NAMES[found.form], args: found.args };
}
