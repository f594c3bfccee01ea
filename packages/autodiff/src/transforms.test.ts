import { device } from '@mercer/tensor';
import { describeTransforms } from './testing/transforms-suite.test-support.js';

describeTransforms(() => device('cpu'));
