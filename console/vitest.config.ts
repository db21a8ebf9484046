// Unit tests run without a browser and without the page's build.
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['test/unit/**/*.test.ts'] } });
