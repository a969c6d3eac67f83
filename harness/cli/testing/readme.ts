/** Runs the shell blocks of the README in one shell, with a free port instead of 8080. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closedPort } from '../../common/testing/servers.ts';

const README = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
/** Blocks that are left out, because `.ci/run` runs `npm ci` and the tests, which include the demo. */
const RUN_BY_CI = ['npm ci && npm start', 'npm ci && npm test'];

const all = [...README.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trim());
const blocks = all.filter((block) => !RUN_BY_CI.includes(block));

export const beginsWithCi = RUN_BY_CI.every((block) => all.includes(block));

const script = (port: number): string =>
  [
    'set -m',
    ...blocks.flatMap((block, index) => [
      block
        .replaceAll('8080', String(port))
        .replaceAll(/ &$/gm, ' >ready.json &\nuntil grep -q \'"ready":true\' ready.json; do kill -0 %1; done'),
      // Begins with a line feed, because the output before it may end without one.
      `code=$?; printf '\\nblock ${index} exits with %s\\n' "$code"; wait`,
    ]),
  ].join('\n');

const OUTPUTS = [...README.matchAll(/```text\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));
const withoutNumbers = (text: string): string => text.replaceAll(/\d+/g, '0');

export function expectOutputsIn(said: string): void {
  const printed = withoutNumbers(said);
  assert.ok(OUTPUTS.length > 0);
  assert.deepEqual(
    OUTPUTS.map((line) => line.trim()).filter((line) => !printed.includes(withoutNumbers(line))),
    [],
  );
}

const lastCommand = (block: string): string => block.split('\n').at(-1) ?? '';

export async function runReadme(home: string, env: NodeJS.ProcessEnv) {
  writeFileSync(join(home, 'blocks.sh'), script(await closedPort()));
  const shell = spawn('bash', ['blocks.sh'], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (piece) => (said += String(piece)));
  await new Promise((resolve) => shell.once('close', resolve));
  const ends = said.match(/^block \d+ exits with \d+$/gm) ?? [];
  // A fleet may exit with 98: the machine was too busy for valid figures.
  const expected = blocks.map((block, index) => {
    const saturated = `block ${index} exits with 98`;
    if (/\bmuster\b.* fleet /.test(block) && ends[index] === saturated) return saturated;
    return `block ${index} exits with ${/# exits with (\d+)$/m.exec(lastCommand(block))?.[1] ?? 0}`;
  });
  return { said, ends, expected };
}
