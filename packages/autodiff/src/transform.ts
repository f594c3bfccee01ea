/**
 * For authors of transforms of functions: trees of tensors, and functions whose operations are intercepted. Programs that take derivatives need none of it,
 * and nothing here is promised to stay as it is between minor versions.
 *
 * @packageDocumentation
 */
export { intercepted, owned, ownedInto, type InterceptedLeaf } from './intercepted.js';
export { listened } from './listened.js';
export type { InterceptedCall, Interceptor } from './trace/intercepting.js';
export { prepareWarm, type PreparedWarm } from './prepare.js';
export { isTree, leavesOf, replaced, type Leaf } from './tree.js';
