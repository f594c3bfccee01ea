import { device } from '@mercer/tensor';
import { describeLinearize } from './testing/linearize-suite.test-support.js';

describeLinearize(() => device('cpu'));
