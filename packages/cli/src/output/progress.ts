import { printable } from '@mercer/core/npy';
import type { Colors } from './color.js';

/** Where progress is drawn: a terminal's standard error, or nowhere. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR_LINE = '\r\u001b[2K';
const REDRAW_MS = 80;

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
    if (this.stream.isTTY !== true) return;
    const last = done !== undefined && done === total;
    if (this.now() - this.lastDrawMs < REDRAW_MS && !last) return;
    this.lastDrawMs = this.now();
    const count = done === undefined || total === undefined ? '' : `[${done}/${total}] `;
    const room = Math.max(20, (this.stream.columns ?? 80) - 1);
    this.stream.write(CLEAR_LINE + this.colors.dim(printable(count + text).slice(0, room)));
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
