import { device } from '@mercer/tensor';
import { describeBadInput } from './testing/bad-input-suite.test-support.js';

describeBadInput(() => device('cpu'));
