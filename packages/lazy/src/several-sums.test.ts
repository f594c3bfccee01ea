import { device } from '@mercer/tensor';
import { describeSeveralSums } from './several-sums-suite.test-support.js';

describeSeveralSums(() => device('cpu'));
