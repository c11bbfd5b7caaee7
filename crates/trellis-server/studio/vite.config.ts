import { build, defineConfig, type Plugin } from "vite";

const target = "es2024";

/** The name of a text that a policy allows. */
async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `'sha256-${btoa(String.fromCharCode(...bytes))}'`;
}

/** A page of one file that loads nothing. Chats allow inline scripts; its own policy allows this one alone, so that no text of a session runs. */
async function pageOf(script: string, style: string): Promise<string> {
  const policy = `default-src 'none'; script-src ${await digest(script)}; style-src ${await digest(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Trellis</title>
    <style>${style}</style>
  </head>
  <body>
    <div id="studio"></div>
    <script>${script}</script>
  </body>
</html>
`;
}

/** The page that chats show beside a session, from the sources of the studio. */
function guest(): Plugin {
  return {
    name: "guest",
    async generateBundle() {
      const built = await build({
        configFile: false,
        logLevel: "warn",
        publicDir: false,
        build: {
          write: false,
          cssCodeSplit: false,
          modulePreload: { polyfill: false },
          rollupOptions: { input: "src/guest/main.tsx", output: { format: "iife", codeSplitting: false, entryFileNames: "guest.js", assetFileNames: "guest[extname]" } },
          target,
        },
      });
      const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) => ("output" in one ? one.output : []));
      const part = (name: string): string => {
        const found = outputs.find(({ fileName }) => fileName === name);
        if (found === undefined) throw new Error(`${name} was not built`);
        const text = found.type === "chunk" ? found.code : String(found.source);
        if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${name} would end its own element`);
        return text.trim();
      };
      this.emitFile({ type: "asset", fileName: "session.html", source: await pageOf(part("guest.js"), part("guest.css")) });
    },
  };
}

// Names without hashes and nothing inline: the server embeds these files by name, and its policy allows no inline script or style.
export default defineConfig({
  base: "./",
  plugins: [guest()],
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
    target,
  },
});
