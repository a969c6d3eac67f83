/**
 * Every shell block of the README runs word for word in one terminal; only the fixed port is replaced by a free one.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
/** What `.ci/run` runs by itself. */
const RUN_BY_CI = ['npm ci && npm start', 'npm ci && npm test'];

const blocks = [...README.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trim());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * A script that runs the blocks as a person does: it waits for a server to be ready, and prints the exit code of each
 * block.
 */
const script = (port: number): string =>
  [
    'set -m',
    ...blocks
      .filter((block) => !RUN_BY_CI.includes(block))
      .flatMap((block, index) => [
        block
          .replaceAll('8080', String(port))
          .replaceAll(/ &$/gm, ' >ready.json &\nuntil grep -q \'"ready":true\' ready.json; do kill -0 %1; done'),
        // An answer that curl shows may end without a line feed.
        `code=$?; printf '\\nblock ${index} exits with %s\\n' "$code"; wait`,
      ]),
  ].join('\n');

it('shows blocks that work, from top to bottom', { timeout: 1_200_000 }, async () => {
  expect(blocks).toEqual(expect.arrayContaining(RUN_BY_CI));
  const home = mkdtempSync(join(tmpdir(), 'muster-readme-'));
  try {
    for (const name of readdirSync(ROOT)) {
      if (name !== '.git' && name !== '.muster') symlinkSync(join(ROOT, name), join(home, name));
    }
    writeFileSync(join(home, 'blocks.sh'), script(await freePort()));
    const shell = spawn('bash', ['blocks.sh'], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (piece) => (said += String(piece)));
    await new Promise((resolve) => shell.once('close', resolve));
    const expected = blocks
      .filter((block) => !RUN_BY_CI.includes(block))
      // A server that is stopped by hand is the last word of its block.
      .map((block, index) => `block ${index} exits with ${/# exits with (\d+)$/m.exec(lastCommand(block))?.[1] ?? 0}`);
    expect(said.match(/^block \d+ exits with \d+$/gm) ?? [], said).toEqual(expected);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

const lastCommand = (block: string): string => block.split('\n').at(-1) ?? '';
