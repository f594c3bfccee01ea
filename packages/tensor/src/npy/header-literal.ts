import { NpyError } from './npy-error.js';
import { quoted } from './printable.js';

/** The three entries of a .npy header, read but not yet judged. */
export interface HeaderLiteral {
  readonly descr: string;
  readonly fortranOrder: boolean;
  readonly shape: readonly bigint[];
}

const MAX_RANK = 64; // numpy's own limit

/**
 * Reads the Python dictionary of a .npy header, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
 * Accepts exactly that grammar (keys in any order) and evaluates nothing.
 */
export function parseHeaderLiteral(text: string): HeaderLiteral {
  return new LiteralReader(text).read();
}

class LiteralReader {
  private at = 0;

  constructor(private readonly text: string) {}

  read(): HeaderLiteral {
    let descr: string | undefined;
    let fortranOrder: boolean | undefined;
    let shape: readonly bigint[] | undefined;
    this.expect('{');
    while (!this.take('}')) {
      const key = this.string();
      this.expect(':');
      if (key === 'descr' && descr === undefined) descr = this.descr();
      else if (key === 'fortran_order' && fortranOrder === undefined) fortranOrder = this.boolean();
      else if (key === 'shape' && shape === undefined) shape = this.shape();
      else this.fail(`the key ${quoted(key)} is unknown or given twice`);
      if (!this.take(',')) {
        this.expect('}');
        break;
      }
    }
    this.skipSpace();
    if (this.at !== this.text.length) this.fail('text follows the dictionary');
    if (descr === undefined || fortranOrder === undefined || shape === undefined) {
      this.fail("one of the keys 'descr', 'fortran_order' and 'shape' is missing");
    }
    return { descr, fortranOrder, shape };
  }

  private descr(): string {
    this.skipSpace();
    const next = this.text[this.at];
    if (next === '[' || next === '(') {
      throw new NpyError(
        'NPY_UNSUPPORTED',
        'Cannot read the array: it has a structured element type (several named fields). Save each field as its own array.',
      );
    }
    return this.string();
  }

  private string(): string {
    this.skipSpace();
    const quote = this.text[this.at];
    if (quote !== "'" && quote !== '"') this.fail('a quoted name was expected');
    const end = this.text.indexOf(quote, this.at + 1);
    if (end < 0) this.fail('a quote is never closed');
    const value = this.text.slice(this.at + 1, end);
    if (value.includes('\\')) this.fail('a name holds an escape');
    this.at = end + 1;
    return value;
  }

  private boolean(): boolean {
    if (this.take('True')) return true;
    if (this.take('False')) return false;
    return this.fail("'fortran_order' is neither True nor False");
  }

  private shape(): bigint[] {
    const extents: bigint[] = [];
    this.expect('(');
    while (!this.take(')')) {
      extents.push(this.extent());
      if (extents.length > MAX_RANK) this.fail(`the shape has more than ${MAX_RANK} axes`);
      if (this.take(',')) continue;
      if (extents.length === 1) this.fail('the shape is no tuple');
      this.expect(')');
      break;
    }
    return extents;
  }

  private extent(): bigint {
    this.skipSpace();
    const digits = /^\d{1,20}/.exec(this.text.slice(this.at, this.at + 21))?.[0] ?? '';
    if (digits === '' || digits.length > 19) this.fail('an extent is not an integer below 2^63');
    this.at += digits.length;
    if (this.text[this.at] === 'L') this.at++; // long integers of Python 2
    const extent = BigInt(digits);
    if (extent >= 1n << 63n) this.fail('an extent is not an integer below 2^63');
    return extent;
  }

  private take(token: string): boolean {
    this.skipSpace();
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) this.fail(`'${token}' was expected`);
  }

  private skipSpace(): void {
    while (/[ \t\n\r]/.test(this.text[this.at] ?? '')) this.at++;
  }

  private fail(why: string): never {
    throw new NpyError(
      'NPY_INVALID',
      `Cannot read the .npy header: ${why} (at character ${this.at}). ` +
        'The file is damaged or not a .npy file; write it again.',
    );
  }
}
