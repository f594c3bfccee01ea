import { CompilerNotFoundError, type Attempt } from '../errors.js';

export const compilerRemedy = 'A page has no C++ compiler, and WebAssembly needs none.';

const attempts: Attempt[] = [{ path: 'c++', error: 'a page starts no programs' }];

/** In the place of compiler/find-compiler.ts. */
export const findCompiler = (): Promise<never> =>
  Promise.reject(new CompilerNotFoundError(attempts, compilerRemedy));

/** Nothing was tried that a report should list. */
export const findCompilerSync = (): { attempts: Attempt[] } => ({ attempts: [] });
