// Of @mercer/cli/plot: pictures are shown on the page.
import { plotSvg } from '../../../../packages/cli/dist/plot/plot-svg.js';
import { assertPictureName } from '../../../../packages/cli/dist/plot/save-plot.js';
import { writeFileSync } from './fs.mjs';

export { plotSvg };

/** @param {string} name @param {Parameters<typeof plotSvg>[0]} options */
export const savePlot = async (name, options) => {
  assertPictureName(name);
  writeFileSync(name, await plotSvg(options));
};
