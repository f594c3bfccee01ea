import { FormulaError } from '../../formula-error.js';
import { tooMuch, type TextLimits } from './limits.js';
import { shown, syntaxError, tokenize, type Token } from './tokens.js';

/** Walks over the tokens of a text, with errors that say where. */
export class TokenReader {
  readonly text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(
    text: unknown,
    readonly limits: Required<TextLimits>,
  ) {
    if (typeof text !== 'string') {
      throw new FormulaError(
        'INVALID_ARGUMENT',
        `cannot read the formula: it is ${text === null ? 'null' : typeof text}, not text. Pass a string.`,
      );
    }
    if (text.length > limits.maxLength) tooMuch('maxLength', text.length, limits.maxLength);
    this.text = text;
    this.#tokens = tokenize(text);
  }

  /** The token that comes next, or one further on. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  /** Whether the next token is this symbol. */
  at(symbol: string): boolean {
    const { kind, text } = this.peek();
    return kind === 'symbol' && text === symbol;
  }

  /** The next token, which is passed. */
  take(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.#next++;
    return token;
  }

  /** Passes a symbol that must come next. */
  expect(symbol: string, why: string): Token {
    if (this.at(symbol)) return this.take();
    throw this.error(this.peek(), `'${symbol}' ${why}`);
  }

  /** The error for a token that does not fit. */
  error(token: Token, expected: string, remedy = ''): FormulaError {
    const problem = `found ${shown(token)}, expected ${expected}`;
    return syntaxError(this.text, token.at, problem, remedy);
  }

  /** Runs `read` one level deeper. */
  deeper<T>(read: () => T): T {
    if (++this.#depth > this.limits.maxDepth) {
      tooMuch('maxDepth', this.#depth, this.limits.maxDepth);
    }
    const result = read();
    this.#depth--;
    return result;
  }

  /** Runs `build` for the text from `token` on; errors of the operations get the position. */
  located<T>(token: Token, build: () => T): T {
    try {
      return build();
    } catch (error) {
      if (
        !(error instanceof FormulaError) ||
        error.code === 'SYNTAX' ||
        LOCATED.test(error.message)
      ) {
        throw error;
      }
      const last = this.#tokens[this.#next - 1] ?? token;
      const source = this.text.slice(token.at, last.at + last.text.length);
      const text = source.length > 60 ? `${source.slice(0, 57)}...` : source;
      throw new FormulaError(
        error.code,
        `${error.message} In the formula at position ${token.at}: ${JSON.stringify(text)}.`,
      );
    }
  }
}

const LOCATED = / In the formula at position \d+: /;
