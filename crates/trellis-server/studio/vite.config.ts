import { defineConfig } from "vite";

// Names without hashes and nothing inline: the server embeds five files by name, and its policy allows no inline script or style.
export default defineConfig({
  base: "./",
  build: {
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        codeSplitting: false,
        entryFileNames: "studio.js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "studio.css" : "[name][extname]"),
      },
    },
    target: "es2024",
  },
});
