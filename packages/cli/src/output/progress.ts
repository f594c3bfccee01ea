import { printable } from '@mercer/core/npy';
import type { Colors } from './color.js';
import { formatBytes } from './format.js';

/** Where progress is drawn: a terminal's standard error, or nowhere. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR_LINE = '\r\u001b[2K';
const REDRAW_MS = 80;
const BAR_CELLS = 20;

/**
 * One line on standard error that is redrawn in place, on a terminal only: pipes and logs never see it.
 * Call `clear()` before printing anything else.
 */
export class Progress {
  private shown = false;
  private lastDrawMs = -Infinity;

  constructor(
    private readonly stream: ProgressStream,
    private readonly colors: Colors,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Shows `text`, with `done` of `total` in front when they are given. */
  update(text: string, done?: number, total?: number): void {
    const isLast = done !== undefined && done === total;
    const count = done === undefined || total === undefined ? '' : `[${done}/${total}] `;
    this.draw(isLast, () => count + text);
  }

  /** Shows how many bytes are read or written: a bar and a percentage, or their count alone where nobody knows the total (0). */
  bytes(text: string, done: number, total: number): void {
    this.draw(total > 0 && done === total, () => {
      if (total === 0) return `${text} ${formatBytes(done)}`;
      const share = Math.min(1, done / total);
      const cells = Math.floor(share * BAR_CELLS);
      const bar = '#'.repeat(cells).padEnd(BAR_CELLS, '.');
      return `${text} [${bar}] ${Math.floor(share * 100)}% of ${formatBytes(total)}`;
    });
  }

  private draw(isLast: boolean, textOf: () => string): void {
    if (this.stream.isTTY !== true) return;
    if (this.now() - this.lastDrawMs < REDRAW_MS && !isLast) return;
    this.lastDrawMs = this.now();
    const room = Math.max(20, (this.stream.columns ?? 80) - 1);
    this.stream.write(CLEAR_LINE + this.colors.dim(printable(textOf()).slice(0, room)));
    this.shown = true;
  }

  /** Removes the line. */
  clear(): void {
    if (!this.shown) return;
    this.stream.write(CLEAR_LINE);
    this.shown = false;
    this.lastDrawMs = -Infinity;
  }
}
