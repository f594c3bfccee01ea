import { defineConfig } from 'vitest/config';
import { projectsOf } from '../../vitest.shared.js';

export default defineConfig({ test: { projects: projectsOf('pairwise') } });
