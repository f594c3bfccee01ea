import { device } from '@mercer/tensor';
import { describeRules } from './testing/rules-suite.test-support.js';

describeRules(() => device('cpu'));
