import { device } from '@mercer/tensor';
import { describeGrad } from './testing/grad-suite.test-support.js';

describeGrad(() => device('cpu'));
