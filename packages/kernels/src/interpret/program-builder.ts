import { select, variable, type BoolExpr, type Expr, type Steps } from '@mercer/formula/plan';
import { isUniform } from '../emit/double-expression.js';
import { expandFunctionsSteps } from '../math/expand-functions.js';
import type { PairwiseDType } from '../dtype.js';
import { lowerTileCode, type TileTables } from './lower-tile-code.js';
import type { TileCode } from './tile-program.js';

/** Codes of one program: they share constants and the values of the launch. */
export class ProgramBuilder {
  readonly constants: number[] = [];
  readonly #dtype: PairwiseDType;
  readonly #launch: readonly string[];
  readonly #rounded: boolean;
  readonly #uniforms: Expr[] = [];
  readonly #places = new Map<string, number>();
  readonly #tables: TileTables;

  /**
   * `launch`: variables that are one number for all elements, in the order in which they are passed. `rounded`: no product
   * is fused with a sum.
   */
  constructor(dtype: PairwiseDType, launch: readonly string[] = [], rounded = false) {
    this.#dtype = dtype;
    this.#launch = launch;
    this.#rounded = rounded;
    this.#tables = {
      constant: (value) => this.#constant(value),
      table: (numbers) => this.#table(numbers),
      uniform: (node) => this.#uniform(node),
    };
  }

  /** In steps, a code over tiles, in the variables `inputs` (or nodes computed before) and those of the launch. */
  *code(
    roots: readonly Expr[],
    inputs: readonly (string | Expr)[],
    nonNegative: readonly string[] = [],
  ): Steps<TileCode> {
    const nodes = inputs.map((input) => (typeof input === 'string' ? variable(input) : input));
    return yield* lowerTileCode({
      dtype: this.#dtype,
      inputs: nodes,
      nonNegative,
      rounded: this.#rounded,
      roots: yield* expandFunctionsSteps(roots),
      tables: this.#tables,
    });
  }

  /** In steps, the code that computes the values of the launch that the codes so far read. */
  *launchCode(): Steps<TileCode> {
    return yield* lowerTileCode({
      dtype: 'float64',
      roots: this.#uniforms.map((node) =>
        node.type === 'bool' ? select(node as BoolExpr, 1, 0) : node,
      ),
      inputs: this.#launch.map((name) => variable(name)),
      nonNegative: [],
      rounded: false,
      tables: { ...this.#tables, uniform: () => undefined },
    });
  }

  #constant(value: number): number {
    const key = Object.is(value, -0) ? '-0' : String(value);
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.constants.push(value) - 1;
      this.#places.set(key, place);
    }
    return place;
  }

  #table(numbers: readonly number[]): number {
    const key = `table ${numbers.join(' ')}`;
    const place = this.#places.get(key) ?? this.constants.length;
    if (!this.#places.has(key)) this.constants.push(...numbers);
    this.#places.set(key, place);
    return place;
  }

  #uniform(node: Expr): number | undefined {
    const launch = this.#launch;
    if (launch.length === 0 || !isUniform(node, (name) => launch.includes(name))) return undefined;
    const known = this.#uniforms.indexOf(node);
    return known >= 0 ? known : this.#uniforms.push(node) - 1;
  }
}
