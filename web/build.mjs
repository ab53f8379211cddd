// Builds the app into hashed files that the Python package carries: node web/build.mjs [FOLDER]
import { build } from 'esbuild';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = path.resolve(process.argv[2] ?? path.join(root, 'src/tickyard/web'));
const client = path.join(root, 'clients/typescript/src');

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const made = await build({
  absWorkingDir: root,
  entryPoints: { app: 'web/src/main.tsx', docs: 'web/src/docs.ts', look: 'web/src/look.css' },
  outdir: folder,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  alias: Object.fromEntries(['pay', 'trade', 'sandbox'].map((name) => [`tickyard/${name}`, `${client}/${name}.ts`]).concat([['tickyard', `${client}/index.ts`]])),
  metafile: true,
  logLevel: 'warning',
});
const names = Object.keys(made.metafile.outputs).map((file) => path.basename(file));
const script = names.find((name) => /^app-.*\.js$/.test(name));
const sheet = names.find((name) => /^look-.*\.css$/.test(name));
// What the script imports is asked for with it, not after it was read.
const parts = needed(script).map((name) => `<link rel="modulepreload" href="/app/files/${name}">\n`);
const page = await readFile(path.join(root, 'web/index.html'), 'utf8');
// What is imported later, by its source, and the files that this takes beyond the first ones.
const first = new Set([script, ...needed(script)]);
const later = Object.fromEntries(
  Object.entries(made.metafile.outputs).flatMap(([file, { entryPoint }]) => {
    const name = path.basename(file);
    const files = entryPoint && name.endsWith('.js') ? [name, ...needed(name)].filter((each) => !first.has(each)) : [];
    return files.length ? [[path.basename(path.dirname(entryPoint)) + '/' + path.basename(entryPoint), files]] : [];
  }),
);
const code = JSON.stringify(later).replaceAll('"', '&quot;');
const index = page.replace('{script}', script).replace('{sheet}', sheet).replace('{parts}', parts.join('')).replace('{code}', code);
// The server sends these as they are: compressing costs it nothing.
for (const name of names) {
  const file = path.join(folder, name);
  await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }));
}
// The page comes last: where it is, everything is.
await writeFile(path.join(folder, 'index.html.gz'), gzipSync(index, { level: 9 }));
await writeFile(path.join(folder, 'index.html'), index);
await writeFile(path.join(folder, 'meta.json'), JSON.stringify(made.metafile.outputs));
await writeFile(path.join(folder, 'ready'), '');

function needed(name, found = new Set()) {
  const [, output] = Object.entries(made.metafile.outputs).find(([file]) => path.basename(file) === name);
  for (const { path: file, kind } of output.imports) {
    const part = path.basename(file);
    if (kind !== 'import-statement' || found.has(part)) continue;
    found.add(part);
    needed(part, found);
  }
  return [...found];
}
