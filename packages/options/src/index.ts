export { describeList, describeValue } from './describe-value.js';
export { nearestName } from './nearest-name.js';
export { optionReader, type OptionNames, type OptionReader, type Refuse } from './option-reader.js';
