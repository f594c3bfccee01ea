import { device } from '@mercer/tensor';
import { describeCustomJvp } from './testing/custom-jvp-suite.test-support.js';

describeCustomJvp(() => device('cpu'));
