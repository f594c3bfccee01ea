import { device } from '@mercer/tensor';
import { describeRandomPrograms } from './testing/random-programs-suite.test-support.js';

describeRandomPrograms(() => device('cpu'), 200);
