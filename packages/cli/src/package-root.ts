/** The root of this package: one folder above, for the sources, for dist and for the bundled file that is published. */
export const packageRoot = new URL('../', import.meta.url);
