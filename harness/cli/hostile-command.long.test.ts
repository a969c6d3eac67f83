/** `muster check --command` with agents that misbehave as processes: what they leave behind, and what they write. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, expect, test } from 'vitest';
import { muster } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-hostile-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Serves 404 on the socket of its first argument. */
const AGENT = join(folder, 'agent.mjs');
writeFileSync(
  AGENT,
  `import { createServer } from 'node:http';
createServer((_, response) => response.writeHead(404, { 'content-type': 'application/json' }).end('{}')).listen(process.argv[2]);
`,
);
const NODE = process.execPath;
const ONE = ['--fast', '--only', 'device.deployment.shape'];

test('the command ends although what the agent left behind holds its output', async () => {
  const child = join(folder, 'child');
  const line = `setsid sh -c 'echo $$ > ${child}; exec sleep 600' & exec ${NODE} ${AGENT} {socket}`;
  const began = performance.now();
  const { stderr } = await muster('check', 'device', '--command', line, ...ONE);
  const pid = Number(readFileSync(child, 'utf8'));
  try {
    // Far less than the 600 s for which the pipes stay open.
    expect(performance.now() - began).toBeLessThan(300_000);
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    expect(stderr).toMatch(/has ended, but something that it started in a session of its own still runs/);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
}, 400_000);

test('what an agent writes to its standard error cannot command the terminal', async () => {
  const nasty = '\u001b[2J\u001b]0;title\u0007\u009b31m\u007f\u202e';
  const program = join(folder, 'nasty.mjs');
  writeFileSync(
    program,
    `process.stderr.write(${JSON.stringify(nasty)} + 'written\\n');\nawait import('./agent.mjs');\n`,
  );
  const report = join(folder, 'report.txt');
  const line = `exec ${NODE} ${program} {socket}`;
  const ended = await muster('check', 'device', '--command', line, ...ONE, '--report', `pretty=${report}`);
  expect(ended.stderr).toContain('\\u001b[2J\\u001b]0;title\\u0007\\u009b31m\\u007f\\u202ewritten');
  const failing = await muster('check', 'device', '--command', `printf '${nasty}' >&2; exit 3`, ...ONE);
  for (const text of [ended.stdout, ended.stderr, failing.stdout, failing.stderr, readFileSync(report, 'utf8')])
    for (const character of nasty.replaceAll(/[\x20-\x7e]/g, '')) expect(text).not.toContain(character);
  expect(failing.code).toBe(2);
}, 120_000);
