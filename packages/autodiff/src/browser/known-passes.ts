import type { Pass as KnownPass } from '../trace/known-passes.js';

/** In a page every kernel is interpreted, and no call is known: each backward pass is made by its rules. See the field `browser` of package.json. */
export const Pass: Pick<typeof KnownPass, 'of'> = { of: () => undefined };
