// Of @mercer/cli/plot: pictures are shown on the page.
import { plotSvg } from '../../../../packages/cli/dist/plot/plot-svg.js';
import { writeFileSync } from './fs.mjs';

export { plotSvg };

/** @param {string} name @param {Parameters<typeof plotSvg>[0]} options */
export const savePlot = async (name, options) => writeFileSync(name, await plotSvg(options));
