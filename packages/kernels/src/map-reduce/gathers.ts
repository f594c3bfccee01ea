import { simplify, variable, type RealExpr } from '@mercer/formula';
import { expandFunctions } from '../math/expand-functions.js';

/** A row that is taken by index. */
export interface Gather {
  /** Position of the input. */
  readonly table: number;
  /** The row number before it is rounded; it may read rows gathered before. */
  readonly index: RealExpr;
}

/** The rows by index of a formula that is being lowered, in order of need. */
export class Gathers {
  readonly found: Gather[] = [];
  /** Numbers of rows as formulas have them, with what they are simplified to. */
  readonly #indices = new Map<RealExpr, RealExpr>();

  /** The scalar variable that stands for a component of the row. */
  component(table: number, unrounded: RealExpr, component: number): RealExpr {
    const index = this.#indices.get(unrounded) ?? simplify(expandFunctions(unrounded));
    this.#indices.set(unrounded, index);
    let place = this.found.findIndex((one) => one.table === table && one.index === index);
    if (place < 0) place = this.found.push({ table, index }) - 1;
    return variable(gatherName(place, component));
  }
}

/** The name of a component of gathered row number `place`. */
export const gatherName = (place: number, component: number): string => `g${place}_${component}`;
