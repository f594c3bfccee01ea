import { device } from '@mercer/tensor';
import { spectralGradientsSuite } from '../testing/spectral-gradients-suite.test-support.js';

spectralGradientsSuite('the CPU', () => device('cpu'));
