import { printable, writeFileWhole } from '@mercer/core/npy';
import { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { assertWritable } from '../files/assert-writable.js';
import { readArray } from '../files/read-array.js';
import { tableOf } from '../files/table-columns.js';
import { TransferProgress } from '../files/transfer-progress.js';
import { parseChoice, parseCount, parseList } from '../options/parse-option.js';
import { parseImageShape } from '../options/parse-size.js';
import type { Output } from '../output/output.js';
import { draw, PLOT_KINDS, SCHEMES, type PlotOptions } from '../plot/draw.js';
import { loadPlot } from '../plot/load-library.js';
import { assertPictureName, pictureBytes } from '../plot/save-plot.js';
import { IN_FILE } from './with-file-options.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface PlotCommandOptions extends CommonOptions, PlotOptions {
  readonly out: string;
}

/** `mercer plot A.csv:x,y --out picture.svg`: a picture of an array. */
export function plotCommand(): Command {
  return withCommonOptions(
    new Command('plot')
      .argument('<A>', IN_FILE)
      .requiredOption(
        '--out <file>',
        'where the picture goes: .svg or .png; - writes SVG to standard output',
      )
      .option(
        '--kind <kind>',
        `${PLOT_KINDS.join(', ')}: columns x, y and a colour; x and lines; a matrix; an image in each row`,
        parseChoice(PLOT_KINDS),
        'scatter',
      )
      .option('--title <text>', 'above the picture')
      .option('--x-label <text>', "of the axis; the column's name")
      .option('--y-label <text>', "of the axis; the column's name")
      .option('--width <pixels>', 'of the picture', parseCount, 640)
      .option('--height <pixels>', 'of the picture; one that suits it', parseCount)
      .option(
        '--log <axes>',
        'x, y or x,y: axes that are logarithmic',
        parseList(parseChoice(['x', 'y'])),
        [],
      )
      .option('--scheme <name>', `colours: ${SCHEMES.join(', ')}`, parseChoice(SCHEMES))
      .option('--image-shape <HxW>', 'pixels of each image; a square', parseImageShape),
  ).action(action(run));
}

async function run(output: Output, options: PlotCommandOptions, args: string[]): Promise<void> {
  const [file = ''] = args;
  const { out, kind } = options;
  if (out === '-') output.resultsGoToStandardError();
  else {
    assertPictureName(out);
    await assertWritable(out);
  }
  const found = await readArray(file, new TransferProgress(output.progress, 'reading').file());
  const [count = 0, height = 0, across = 0] = found.shape;
  const isStack = kind === 'images' && found.shape.length === 3 && !found.fortranOrder;
  const array = isStack ? { ...found, shape: [count, height * across] } : found;
  if (array.shape.length > 2) {
    throw usageError(
      `Cannot draw '${printable(file)}': its shape is (${found.shape.join(', ')}), and pictures are of rows and columns; --kind images also takes images in row-major order, as (count, height, width)`,
    );
  }
  const table = tableOf(file, array);
  if (table.rows * table.columns === 0) {
    throw usageError(
      `Cannot draw '${printable(file)}': its shape is (${found.shape.join(', ')}), which has no numbers`,
    );
  }
  output.progress.update('drawing');
  const imageShape = options.imageShape ?? (isStack ? ([height, across] as const) : undefined);
  const svg = draw(await loadPlot(), file, table, { ...options, imageShape });
  const bytes = await pictureBytes(out, svg);
  output.progress.clear();
  if (out === '-') process.stdout.write(bytes);
  else await writeFileWhole(out, [bytes]);
  output.result(
    { out, kind, shape: found.shape, bytes: bytes.length },
    () =>
      `${out === '-' ? 'standard output' : printable(out)}: ${kind} of ${found.shape.join(' x ')}`,
  );
}
