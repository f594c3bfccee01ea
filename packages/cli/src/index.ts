/**
 * The `mercer` command as a value, for programs that embed it.
 *
 * @packageDocumentation
 */
export { createProgram } from './program.js';
