/**
 * What the formulas of tests are written in. A `LazyTensor` has these methods, and so has {@link Bounded}: one function of variables
 * makes the formula that is tested, and by loops the numbers that it must give, with nothing of the package between.
 */
export interface Algebra<T> {
  add(other: T | number): T;
  sub(other: T | number): T;
  mul(other: T | number): T;
  div(other: T | number): T;
  eq(other: T | number): T;
  ne(other: T | number): T;
  minimum(other: T | number): T;
  maximum(other: T | number): T;
  sqdist(other: T | number): T;
  dot(other: T | number): T;
  neg(): T;
  abs(): T;
  square(): T;
  exp(): T;
  sqrt(): T;
  sin(): T;
  tanh(): T;
  relu(): T;
  elem(at: number): T;
  sum(): T;
}

/** u of each dtype; the oracle is float64 itself, and counts for float64 as well. */
export const UNIT = { float32: 2 ** -24, float64: 2 ** -52 } as const;

/** The published error of a sum of `count` terms, in u of the sum of their sizes. */
export const sumGrowth = (count: number): number => 2 * Math.sqrt(count) + 4;

/** A number with what rounding may have made of it. */
export interface BoundedNumber {
  readonly value: number;
  readonly error: number;
}

/** What a dtype makes of an exact result: whole numbers and others that it represents stay as they are. */
export function rounded(value: number, error: number, unit: number, units = 1): BoundedNumber {
  const isExact = error === 0 && Math.fround(value) === value;
  return { value, error: isExact ? 0 : error + units * unit * (Math.abs(value) + error) };
}

/** The sum with the published error; 0 where whole numbers are exact. */
export function sumOf(terms: readonly BoundedNumber[], unit: number): BoundedNumber {
  let [value, error, size, isWhole] = [0, 0, 0, true];
  for (const one of terms) {
    value += one.value;
    error += one.error;
    size += Math.abs(one.value) + one.error;
    isWhole &&= Number.isInteger(one.value);
  }
  const isExact = error === 0 && isWhole && size < 2 ** 24;
  return { value, error: isExact ? 0 : error + sumGrowth(terms.length) * unit * size };
}

type Operand = Bounded | number;

/** The components of a formula for a pair of rows in float64, each with a bound of its error where every operation rounds. */
export class Bounded implements Algebra<Bounded> {
  constructor(
    readonly parts: readonly BoundedNumber[],
    private readonly unit: number,
  ) {}

  private map(of: (x: BoundedNumber) => BoundedNumber): Bounded {
    return new Bounded(this.parts.map(of), this.unit);
  }

  /** With an operand of as many components, of one, or a number, which is rounded too. */
  private with(other: Operand, of: (x: BoundedNumber, y: BoundedNumber) => BoundedNumber): Bounded {
    const own = this.parts;
    const theirs = typeof other === 'number' ? [rounded(other, 0, this.unit)] : other.parts;
    const count = Math.max(own.length, theirs.length);
    const at = (parts: readonly BoundedNumber[], c: number): BoundedNumber =>
      parts[parts.length === 1 ? 0 : c] ?? { value: NaN, error: NaN };
    const parts = Array.from({ length: count }, (_, c) => of(at(own, c), at(theirs, c)));
    return new Bounded(parts, this.unit);
  }

  add(other: Operand): Bounded {
    return this.with(other, (x, y) => rounded(x.value + y.value, x.error + y.error, this.unit));
  }
  sub(other: Operand): Bounded {
    return this.with(other, (x, y) => rounded(x.value - y.value, x.error + y.error, this.unit));
  }
  mul(other: Operand): Bounded {
    return this.with(other, (x, y) => product(x, y, this.unit));
  }
  /** May be a product with the reciprocal, which is rounded too. */
  div(other: Operand): Bounded {
    return this.with(other, (x, y) => {
      const value = x.value / y.value;
      const least = Math.abs(y.value) - y.error;
      const error = (x.error + Math.abs(value) * y.error) / least;
      const isRounded = Math.fround(1 / y.value) !== 1 / y.value;
      return rounded(value, least > 0 ? error : Infinity, this.unit, isRounded ? 3 : 1);
    });
  }
  eq(other: Operand): Bounded {
    return this.with(other, (x, y) => isEqual(x, y, true));
  }
  ne(other: Operand): Bounded {
    return this.with(other, (x, y) => isEqual(x, y, false));
  }
  minimum(other: Operand): Bounded {
    return this.with(other, (x, y) => ({
      value: Math.min(x.value, y.value),
      error: Math.max(x.error, y.error),
    }));
  }
  maximum(other: Operand): Bounded {
    return this.with(other, (x, y) => ({
      value: Math.max(x.value, y.value),
      error: Math.max(x.error, y.error),
    }));
  }
  sqdist(other: Operand): Bounded {
    return this.sub(other).square().sum();
  }
  dot(other: Operand): Bounded {
    return this.mul(other).sum();
  }
  neg(): Bounded {
    return this.map(({ value, error }) => ({ value: -value, error }));
  }
  abs(): Bounded {
    return this.map(({ value, error }) => ({ value: Math.abs(value), error }));
  }
  square(): Bounded {
    return this.mul(this);
  }
  exp(): Bounded {
    return this.map((x) => exponential(x, this.unit));
  }
  sqrt(): Bounded {
    return this.map(({ value, error }) => {
      const least = Math.sqrt(Math.max(0, value - error));
      return rounded(Math.sqrt(value), Math.sqrt(value) - least, this.unit, 2);
    });
  }
  sin(): Bounded {
    // of the largest sine: near its zeros the reduced argument is what is off
    return this.map(({ value, error }) => ({
      value: Math.sin(value),
      error: error + FUNCTION * this.unit * (1 + Math.abs(value)),
    }));
  }
  tanh(): Bounded {
    return this.map(({ value, error }) => rounded(Math.tanh(value), error, this.unit, FUNCTION));
  }
  relu(): Bounded {
    return this.map(({ value, error }) => ({ value: Math.max(0, value), error }));
  }
  elem(at: number): Bounded {
    return new Bounded(this.parts.slice(at, at + 1), this.unit);
  }
  sum(): Bounded {
    return new Bounded([sumOf(this.parts, this.unit)], this.unit);
  }
}

/** Roundings of a function of `kernels/src/math`, whose own tests hold it to fewer. */
const FUNCTION = 4;

export function product(x: BoundedNumber, y: BoundedNumber, unit: number): BoundedNumber {
  const error = Math.abs(x.value) * y.error + Math.abs(y.value) * x.error + x.error * y.error;
  return rounded(x.value * y.value, error, unit);
}

export function exponential({ value, error }: BoundedNumber, unit: number): BoundedNumber {
  const result = Math.exp(value);
  // a power of 2 whose exponent is a product with a rounded number
  return rounded(result, result * Math.expm1(error), unit, FUNCTION + 2 * Math.abs(value));
}

function isEqual(x: BoundedNumber, y: BoundedNumber, wanted: boolean): BoundedNumber {
  const error = x.error + y.error;
  const hangs = error > 0 && Math.abs(x.value - y.value) <= error;
  return { value: (x.value === y.value) === wanted ? 1 : 0, error: hangs ? 1 : 0 };
}
