import { MercerError } from '../index.js';

/** In the place of what only a GPU needs: its text would be a quarter of every page. Nothing calls it, because no page has a device of CUDA. */
export function noCuda(): never {
  throw new MercerError('NO_BACKEND', 'A page reaches no CUDA. Run the program in Node.');
}
