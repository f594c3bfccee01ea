import { printable, writeFileWhole } from '@mercer/core/npy';
import { usageError } from '../cli-error.js';
import { renderPng } from './load-library.js';
import { plotSvg, type PictureOptions } from './plot-svg.js';

/** @throws CliError USAGE for a name of another format */
export function assertPictureName(file: string): void {
  if (/\.(svg|png)$/i.test(file)) return;
  throw usageError(
    `Cannot write '${printable(file)}': pictures are SVG or PNG. End the name in .svg or .png`,
  );
}

/** What is written under a name: SVG, or the PNG of it. */
export const pictureBytes = async (file: string, svg: string): Promise<Uint8Array> =>
  /\.png$/i.test(file) ? renderPng(svg) : Buffer.from(svg);

/**
 * Draws a plot of Observable Plot without a browser, and writes it as SVG, or as PNG with two pixels for each of the plot.
 *
 * @param file its name ends in .svg or .png
 * @param options as of `plotSvg`
 * @throws CliError USAGE for another ending, MISSING_PACKAGE where an optional peer is not installed: @observablehq/plot, linkedom, and for PNG @resvg/resvg-js
 *
 * @example
 * ```ts
 * import { line } from '@observablehq/plot';
 * import { savePlot } from '@mercer/cli/plot';
 *
 * const losses = Float32Array.of(8, 4, 2, 1);
 * await savePlot('losses.svg', { x: { label: 'step' }, y: { type: 'log', label: 'loss' }, marks: [line(losses.entries())] });
 * ```
 */
export async function savePlot(file: string, options: PictureOptions): Promise<void> {
  assertPictureName(file);
  await writeFileWhole(file, [await pictureBytes(file, await plotSvg(options))]);
}
