/**
 * Pictures without a browser, by Observable Plot, as SVG and PNG.
 *
 * @packageDocumentation
 */
export { plotSvg, type PictureOptions } from './plot-svg.js';
export { savePlot } from './save-plot.js';
