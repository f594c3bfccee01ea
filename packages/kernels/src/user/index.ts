export { emitUserKernel, type UserKernel } from './user-kernel.js';
