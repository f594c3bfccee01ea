import { axesOf, type Contraction } from '@mercer/formula/plan';
import { affineIndex, divideIndex, fixedIndex, sumIndex, type IndexExpr } from './index-expr.js';

/** A contraction as one sum: where its factors lie, by component of the result and by term of the sum. */
export interface ContractionIndices {
  readonly terms: number;
  readonly factors: (out: IndexExpr, term: IndexExpr) => readonly [f: IndexExpr, g: IndexExpr];
}

type Axis = string;
type Sizes = ReadonlyMap<Axis, number>;

/** The numbers of the components that a contraction multiplies. */
export function contractionIndices(contraction: Contraction): ContractionIndices {
  const { f, g, out, sizes } = joinAxes(axesOf(contraction));
  const summed = f.filter((axis) => g.includes(axis) && !out.includes(axis));
  return {
    terms: summed.reduce((product, axis) => product * sizeOf(axis, sizes), 1),
    factors: (at, term) => {
      const places = new Map([...split(out, at, sizes), ...split(summed, term, sizes)]);
      return [flat(f, places, sizes), flat(g, places, sizes)];
    },
  };
}

const sizeOf = (axis: Axis, sizes: Sizes): number => sizes.get(axis) ?? 1;

/** The number along every axis of the component `index` of a row-major tensor. */
function split(axes: readonly Axis[], index: IndexExpr, sizes: Sizes): [Axis, IndexExpr][] {
  const places: [Axis, IndexExpr][] = [];
  let rest = index;
  for (const axis of [...axes].reverse()) {
    const { quotient, remainder } = divideIndex(rest, sizeOf(axis, sizes));
    places.push([axis, remainder]);
    rest = quotient;
  }
  return places;
}

function flat(axes: readonly Axis[], at: ReadonlyMap<Axis, IndexExpr>, sizes: Sizes): IndexExpr {
  return axes.reduce(
    (index, axis) =>
      sumIndex(affineIndex(index, sizeOf(axis, sizes)), at.get(axis) ?? fixedIndex(0)),
    fixedIndex(0),
  );
}

type NamedAxes = ReturnType<typeof axesOf>;

/** Axes that follow each other wherever they stand are one. */
function joinAxes(axes: NamedAxes): NamedAxes {
  const lists = [axes.f, axes.g, axes.out];
  for (const list of lists) {
    for (const [k, first] of list.entries()) {
      const second = list[k + 1];
      if (second === undefined || !lists.every((one) => follow(one, first, second))) continue;
      const without = (one: readonly Axis[]): Axis[] => one.filter((axis) => axis !== second);
      const size = sizeOf(first, axes.sizes) * sizeOf(second, axes.sizes);
      return joinAxes({
        f: without(axes.f),
        g: without(axes.g),
        out: without(axes.out),
        sizes: new Map([...axes.sizes, [first, size]]),
      });
    }
  }
  return axes;
}

const follow = (list: readonly Axis[], first: Axis, second: Axis): boolean =>
  list.includes(first) === list.includes(second) &&
  (!list.includes(first) || list[list.indexOf(first) + 1] === second);
