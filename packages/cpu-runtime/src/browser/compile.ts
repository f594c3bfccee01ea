import { findCompiler } from './find-compiler.js';

/** In the place of compiler/compile.ts. */
export const compile = (): Promise<never> => findCompiler();
