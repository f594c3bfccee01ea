import { device } from '@mercer/tensor';
import { describeMapsOfKernels } from './testing/maps-of-kernels-suite.test-support.js';

describeMapsOfKernels(() => device('cpu'));
