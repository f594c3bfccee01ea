import { colorsFor, type Colors } from './color.js';
import { jsonLine, jsonText } from './json-text.js';
import { Progress, type ProgressStream } from './progress.js';
import { safeColoredLines, safeLines } from './safe-text.js';
import { renderTable, type Column } from './table.js';

/** The streams and settings that an Output writes with; the process's own outside of tests. */
export interface OutputOptions {
  readonly json: boolean;
  readonly debug: boolean;
  readonly stdout?: ProgressStream;
  readonly stderr?: ProgressStream;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * The one way a command speaks: its result goes to standard output, as JSON or as text and tables;
 * notes and progress go to standard error.
 */
export class Output {
  readonly json: boolean;
  readonly debug: boolean;
  readonly colors: Colors;
  readonly progress: Progress;
  private stdout: ProgressStream;
  private readonly stderr: ProgressStream;

  constructor(options: OutputOptions) {
    const env = options.env ?? process.env;
    this.json = options.json;
    this.debug = options.debug;
    this.stdout = options.stdout ?? process.stdout;
    this.stderr = options.stderr ?? process.stderr;
    this.colors = colorsFor(this.stdout, env);
    this.progress = new Progress(this.stderr, colorsFor(this.stderr, env));
  }

  /** Prints the command's result: `value` with --json, else the text that `render` makes. */
  result(value: unknown, render: () => string): void {
    this.progress.clear();
    this.stdout.write(`${this.json ? jsonText(value) : this.safe(render().trimEnd())}\n`);
  }

  /** For commands that write a file's bytes to standard output: what is said of it goes beside it. */
  resultsGoToStandardError(): void {
    this.stdout = this.stderr;
  }

  /** Whether standard output is read by people: it is a terminal, and no JSON is asked for. */
  get isForPeople(): boolean {
    return !this.json && this.stdout.isTTY === true;
  }

  /** Prints one line of JSON of a command that tells what happens while it runs. */
  line(value: unknown): void {
    this.progress.clear();
    this.stdout.write(`${jsonLine(value)}\n`);
  }

  /** A text for people on standard output. */
  text(text: string): void {
    this.progress.clear();
    this.stdout.write(`${this.safe(text.trimEnd())}\n`);
  }

  /** A remark for people, on standard error so that pipes stay clean; nothing with --json. */
  note(text: string): void {
    this.progress.clear();
    if (!this.json) this.stderr.write(`${safeLines(text)}\n`);
  }

  table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
    return renderTable(columns, rows, this.colors);
  }

  private safe(text: string): string {
    return this.colors.isColorSupported ? safeColoredLines(text) : safeLines(text);
  }

  heading(text: string): string {
    return this.colors.bold(text);
  }
}
