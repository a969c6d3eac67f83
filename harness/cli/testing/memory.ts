/** The most memory that a command ever had. For tests, on Linux. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The most memory of the process with this status, as `/proc` shows it, bytes. */
export const mostBytesIn = (status: string): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]);

/** The environment of a command that copies its status to that file when it exits. */
export function keepingStatus(file: string): NodeJS.ProcessEnv {
  const script = `${file}.mjs`;
  const copy =
    "process.on('exit', () => fs.writeFileSync(process.env.MEMORY_FILE, fs.readFileSync('/proc/self/status')))";
  writeFileSync(script, `import fs from 'node:fs';\nimport process from 'node:process';\n${copy};\n`);
  return { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, MEMORY_FILE: file };
}
