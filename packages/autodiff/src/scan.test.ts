import { device } from '@mercer/tensor';
import { describeScan } from './testing/scan-suite.test-support.js';

describeScan(() => device('cpu'));
