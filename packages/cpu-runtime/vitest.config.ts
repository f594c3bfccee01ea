import { defineConfig } from 'vitest/config';
import { packageTestsAlone } from '../../vitest.shared.js';

export default defineConfig({ test: { ...packageTestsAlone, name: '@mercer/cpu-runtime' } });
