/**
 * Copies the launcher, styles and scripts of pages beside the compiled TypeScript: `node .config/plain-files.ts dist`.
 */
import { cpSync, globSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const ROOT = join(import.meta.dirname, '..');
const [compiled = 'dist'] = process.argv.slice(2);
for (const file of globSync('{harness,simulators}/**/{*.css,*-page.js,*.cjs}', { cwd: ROOT }))
  cpSync(join(ROOT, file), join(compiled, file));
