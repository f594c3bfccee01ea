import { printable } from '@mercer/core/npy';
import type { PlotOptions } from '@observablehq/plot';
import { usageError } from '../cli-error.js';
import { loadPlot, type Drawing } from './load-library.js';

/** Options of Plot's `plot` whose result is a picture alone. */
export interface PictureOptions extends Omit<
  PlotOptions,
  'title' | 'subtitle' | 'caption' | 'figure' | 'document'
> {
  title?: string;
}

/** Of Plot's own font size, 10, too little is left where pictures of this width stand in a page. */
const WIDTH = 640;
const STYLE = { background: 'white', fontSize: '14px' };
const MARGINS = { left: 72, right: 24, top: 24, bottom: 48 };
const NO_AXES = 12;
const TITLE_HEIGHT = 28;
const LEGEND_HEIGHT = 56;
/** Height of the frame by its width. */
const ASPECT = 0.6;

/**
 * A plot of Observable Plot as an SVG document, drawn without a browser. `title` and `color.legend`, which Plot draws as HTML beside the
 * picture, stand inside of it, in space that is added to `marginTop`. By default it is 640 pixels wide, on white.
 *
 * @param options those of Plot's `plot`, with `marks`; arrays of pairs of numbers (`await points.toNested()`) and typed arrays are data of marks
 * @throws CliError USAGE for `subtitle`, `caption`, the color legend `swatches` and legends of other scales, which would be HTML; MISSING_PACKAGE where @observablehq/plot or linkedom, which are optional peers, are not installed
 *
 * @example
 * ```ts
 * import { dot } from '@observablehq/plot';
 * import { plotSvg } from '@mercer/cli/plot';
 *
 * const marks = [dot([[0, 1], [2, 3]], { fill: [0, 1] })];
 * const svg = await plotSvg({ title: 'Two points', marks });
 * console.log(svg.slice(0, 4)); // <svg
 * ```
 */
export async function plotSvg(options: PictureOptions): Promise<string> {
  return renderSvg(await loadPlot(), options);
}

/** The same with the library at hand. */
export function renderSvg({ plot, document }: Drawing, options: PictureOptions): string {
  const { title, color, marks = [], margin, ...rest } = options;
  const { axis, width = WIDTH, aspectRatio } = options;
  // Plot's own type of it needs the DOM library
  const style: unknown = options.style;
  const hasAxes = axis !== null;
  const hasLegend = isRamp(color?.legend);
  const side = (which: keyof typeof MARGINS, own: number | undefined): number =>
    own ?? margin ?? (hasAxes ? MARGINS[which] : NO_AXES);
  const left = side('left', options.marginLeft);
  const right = side('right', options.marginRight);
  const bottom = side('bottom', options.marginBottom);
  const legendTop = title === undefined ? 0 : TITLE_HEIGHT;
  const marginTop = legendTop + (hasLegend ? LEGEND_HEIGHT : 0) + side('top', options.marginTop);
  const frame = width - left - right;
  const figure = plot.plot({
    document,
    className: 'mercer-plot',
    width,
    ...(aspectRatio === undefined && { height: Math.round(ASPECT * frame) + marginTop + bottom }),
    ...rest,
    style: { ...STYLE, ...(typeof style === 'object' && style) },
    marginTop,
    marginLeft: left,
    marginRight: right,
    marginBottom: bottom,
    x: { ...axisDefaults(bottom, options.x), ...options.x },
    y: { ...axisDefaults(left, options.y), tickSpacing: 50, ...options.y },
    color: { ...color, legend: false },
    marks: [
      ...marks,
      ...(title === undefined
        ? []
        : [
            plot.text([printable(title)], {
              // once, and not in each facet
              facet: 'super',
              frameAnchor: 'top-left',
              dy: 10 - marginTop,
              fontSize: 16,
              fontWeight: 'bold',
            }),
          ]),
    ],
  });
  if (figure.tagName.toLowerCase() !== 'svg') throw isHtml();
  if (typeof style === 'string') {
    figure.setAttribute(
      'style',
      `background:${STYLE.background};font-size:${STYLE.fontSize};${style}`,
    );
  }
  figure.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  figure.setAttribute('xmlns:xlink', 'http://www.w3.org/1999/xlink');
  const legend = hasLegend
    ? figure.legend('color', {
        legend: 'ramp',
        className: 'mercer-legend',
        style: { fontSize: '12px' },
        width: frame,
      })
    : undefined;
  if (legend !== undefined) {
    const place = { x: left, y: legendTop, 'text-anchor': 'start', overflow: 'visible' };
    for (const [name, value] of Object.entries(place)) legend.setAttribute(name, String(value));
    figure.append(legend);
  }
  return `${withoutControls(figure.outerHTML)}\n`;
}

/** XML takes no control characters but line ends; labels and texts of marks may have them. */
const withoutControls = (svg: string): string => svg.split('\n').map(printable).join('\n');

/** Whether there is a legend inside of the picture. @throws CliError USAGE for one of HTML */
function isRamp(legend: 'ramp' | 'swatches' | boolean | null | undefined): boolean {
  if (legend === 'swatches') throw isHtml();
  return legend === true || legend === 'ramp';
}

const isHtml = (): Error =>
  usageError(
    'Cannot draw the plot: subtitle, caption, the color legend swatches and legends of scales other than color are HTML beside a picture. Leave them out',
  );

/** The name stands a little away from the edge; logarithmic axes have numbers without units, 0.2 and not 200m. */
const axisDefaults = (margin: number, options: PictureOptions['x']): object => ({
  labelAnchor: 'center',
  labelOffset: margin - 6,
  ...(options?.type === 'log' && { tickFormat: '~g' }),
});
