import { indent, lines } from '../../emit/indent.js';

/** `body` for every kept row `g` of a thread. */
export const everyKeptRow = (count: number, body: string): string =>
  lines('#pragma unroll', `for (int g = 0; g < ${count}; ++g) {`, indent(body), '}');
