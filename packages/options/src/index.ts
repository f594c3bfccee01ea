export { INSPECT } from './inspect-symbol.js';
export { MercerError } from './mercer-error.js';
export { describeList, describeValue, refusePromise } from './describe-value.js';
export { nearestName } from './nearest-name.js';
export { onAbort } from './on-abort.js';
export { own } from './own.js';
export { isMap, ofThisRealm } from './realms.js';
export {
  optionReader,
  type OptionNames,
  type OptionReader,
  type ReadOptions,
  type Refuse,
} from './option-reader.js';
