// Build of the console: one page, a few small chunks, nothing fetched from elsewhere.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the policy of the server allows no data: scripts or styles
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: {
    port: 26001,
    proxy: { '/api': 'http://127.0.0.1:26000' },
  },
});
