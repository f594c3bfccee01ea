import type { ReductionKind } from '@mercer/formula';
import { expect } from 'vitest';
import type { LazyAxis } from './index.js';
import { entryOf, together, type Numbers } from './reference.test-support.js';

/** A number and how fast it changes with one number of the data: its rules are those of calculus, and nothing of the package. */
export class Slope {
  constructor(
    readonly value: number,
    readonly slope = 0,
  ) {}

  plus({ value, slope }: Slope): Slope {
    return new Slope(this.value + value, this.slope + slope);
  }
  minus({ value, slope }: Slope): Slope {
    return new Slope(this.value - value, this.slope - slope);
  }
  times({ value, slope }: Slope): Slope {
    return new Slope(this.value * value, this.slope * value + this.value * slope);
  }
  over({ value, slope }: Slope): Slope {
    const quotient = this.value / value;
    return new Slope(quotient, (this.slope - quotient * slope) / value);
  }
  squared(): Slope {
    return this.times(this);
  }
  exp(): Slope {
    const value = Math.exp(this.value);
    return new Slope(value, value * this.slope);
  }
  log(): Slope {
    return new Slope(Math.log(this.value), this.slope / this.value);
  }
  sin(): Slope {
    return new Slope(Math.sin(this.value), Math.cos(this.value) * this.slope);
  }
  cos(): Slope {
    return new Slope(Math.cos(this.value), -Math.sin(this.value) * this.slope);
  }
}

/** A row of numbers. */
export type Slopes = readonly Slope[];

export const total = (x: Slopes): Slope => x.reduce((sum, one) => sum.plus(one), new Slope(0));

/** Two rows, component by component. */
export const paired = (x: Slopes, y: Slopes, of: (x: Slope, y: Slope) => Slope): Slopes =>
  x.map((one, c) => of(one, y[c] ?? new Slope(NaN)));

export const dot = (x: Slopes, y: Slopes): Slope => total(paired(x, y, (p, q) => p.times(q)));

/** What a pair of rows adds to a reduction. */
export interface Term {
  readonly formula: Slopes;
  readonly weight?: Slopes;
}

/** A reduction of named data, as a test means it. */
export interface Meant {
  readonly kind: ReductionKind;
  readonly axis: LazyAxis;
  readonly k?: number | undefined;
  readonly rowsI: number;
  readonly rowsJ: number;
  /** The term of a pair; `row` gives a row of named data, of the batch entry at hand. */
  readonly term: (pair: {
    readonly i: number;
    readonly j: number;
    readonly row: (name: string, at?: number) => Slopes;
  }) => Term;
  /** Which rows meet; default: all. */
  readonly meets?: (i: number, j: number) => boolean;
}

/**
 * The gradient of the sum of all results, each times its number of the cotangent, by some of the data: by plain loops over what the
 * reduction means, once for each number of the data.
 */
export function gradientByLoops(
  of: Meant,
  data: Readonly<Record<string, Numbers>>,
  by: string,
  cotangent: Numbers,
): number[] {
  const batch = together(Object.values(data).map((one) => one.batch));
  const entries = batch.reduce((product, size) => product * size, 1);
  const [kept, reduced] = of.axis === 'j' ? [of.rowsI, of.rowsJ] : [of.rowsJ, of.rowsI];
  return Array.from(data[by]?.values ?? [], (_, moved) => {
    let [sum, at] = [0, 0];
    for (let entry = 0; entry < entries; entry++) {
      const row = (name: string, index = 0): Slopes => {
        const { batch: own, rows, dim, values } = data[name]!;
        const first = (entryOf(batch, own, entry) * rows + index) * dim;
        return Array.from(
          values.subarray(first, first + dim),
          (value, c) => new Slope(value, name === by && first + c === moved ? 1 : 0),
        );
      };
      for (let own = 0; own < kept; own++) {
        const terms: Term[] = [];
        for (let other = 0; other < reduced; other++) {
          const [i, j] = of.axis === 'j' ? [own, other] : [other, own];
          if (of.meets?.(i, j) ?? true) terms.push(of.term({ i, j, row }));
        }
        const results = terms.length === 0 ? [] : resultsOf(of, terms);
        for (let c = 0; c < cotangent.dim; c++, at++) {
          // A row that meets none has no slope.
          if (terms.length > 0) sum += results[c]!.slope * cotangent.values[at]!;
        }
      }
    }
    return sum;
  });
}

const columnsOf = (rows: readonly Slopes[]): readonly Slopes[] =>
  rows[0]!.map((_, c) => rows.map((row) => row[c]!));

/** One row of results. */
function resultsOf({ kind, k = 1 }: Meant, terms: readonly Term[]): Slopes {
  const columns = columnsOf(terms.map(({ formula }) => formula));
  const weights = columnsOf(terms.map(({ weight = [new Slope(1)] }) => weight));
  const count = new Slope(terms.length);
  const shares = (): Slopes => columns[0]!.map((one) => one.exp());
  switch (kind) {
    case 'Sum':
      return columns.map(total);
    case 'Mean':
      return columns.map((column) => total(column).over(count));
    case 'Var':
      return columns.map((column) => {
        const mean = total(column).over(count);
        return total(column.map((one) => one.minus(mean).squared())).over(count);
      });
    case 'Prod':
      return columns.map((column) => column.reduce((all, one) => all.times(one)));
    case 'LogSumExp':
      return weights.map((weight) => dot(shares(), weight).log());
    case 'SumSoftMaxWeight':
      return weights.map((weight) => dot(shares(), weight).over(total(shares())));
    default: {
      const sign = kind.includes('Max') ? -1 : 1;
      const ranked = columns.map((column) =>
        column.toSorted((one, other) => sign * (one.value - other.value)),
      );
      const ranks = Array.from({ length: kind.startsWith('K') ? k : 1 }, (_, rank) => rank);
      return ranks.flatMap((rank) => ranked.map((column) => column[rank] ?? new Slope(Infinity)));
    }
  }
}

/** Within some thousand roundings of the largest of the wanted numbers. */
export function expectSlopes(found: ArrayLike<number>, wanted: readonly number[]): void {
  expect(found).toHaveLength(wanted.length);
  const largest = Math.max(...wanted.map(Math.abs));
  for (const [at, want] of wanted.entries()) {
    const error = Math.abs((found[at] ?? NaN) - want);
    expect(error, `number ${at}`).toBeLessThanOrEqual(1e-12 * largest);
  }
}
