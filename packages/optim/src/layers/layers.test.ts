import { device } from '@mercer/tensor';
import { layersSuite } from '../testing/layers-suite.test-support.js';

layersSuite('the CPU', () => device('cpu'));
