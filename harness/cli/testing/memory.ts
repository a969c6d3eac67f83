import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const mostBytesIn = (status: string): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]);

export function keepingStatus(file: string): NodeJS.ProcessEnv {
  const script = `${file}.mjs`;
  const copy =
    "process.on('exit', () => fs.writeFileSync(process.env.MEMORY_FILE, fs.readFileSync('/proc/self/status')))";
  writeFileSync(script, `import fs from 'node:fs';\nimport process from 'node:process';\n${copy};\n`);
  return { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, MEMORY_FILE: file };
}
