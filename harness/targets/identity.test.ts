import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { executableOf, measureExecutable } from './identity.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-executable-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'bin'));
mkdirSync(join(folder, 'my apps'));
for (const name of ['bin/agent', 'run.sh', 'my apps/agent', 'bin/plain']) {
  writeFileSync(join(folder, name), `#!/bin/sh\necho ${name}\n`);
  chmodSync(join(folder, name), name === 'bin/plain' ? 0o644 : 0o755);
}
const env = { PATH: `/nonexistent:${folder}/bin` };

test.each([
  ['agent --socket /run/a.sock', 'bin/agent'],
  ['exec agent', 'bin/agent'],
  ['LOG=warn MODE="a b" exec ./run.sh $NAME "$OTHER" \'a;b\' 2>&1 >log', 'run.sh'],
  ['2>log ./run.sh', 'run.sh'],
  [`${folder}/run.sh --at a#1`, 'run.sh'],
  ["'my apps/agent' --x=a#b", 'my apps/agent'],
  ['my\\ apps/agent', 'my apps/agent'],
])('%s executes a file', (line, file) => {
  expect(executableOf(line, folder, env)).toEqual({ file: join(folder, file) });
});

test.each([
  ['agent; agent', /more than one simple command/],
  ['agent & wait', /more than one/],
  ['agent | tee log', /more than one/],
  ['agent && agent', /more than one/],
  ['agent\nagent', /more than one/],
  ['agent # comment', /more than one/],
  ['(agent)', /more than one/],
  ['agent $(cat args)', /more than one/],
  ['agent "$(cat args)"', /more than one/],
  ['agent `cat args`', /more than one/],
  ["agent 'unfinished", /more than one/],
  ['$AGENT --x', /the shell decides what \$AGENT is/],
  ['~/agent', /the shell decides/],
  ['PATH=/opt agent', /sets PATH/],
  ['cd x', /executes no file/],
  ['A=b', /executes no file/],
  ['', /executes no file/],
  ['node agent.mjs', /node runs another program/],
  ['/usr/bin/python3.12 agent.py', /python3.12 runs another program/],
  ['plain', /no executable file plain was found/],
  ['agents', /no executable file agents/],
])('%j executes nothing that is known', (line, problem) => {
  expect(executableOf(line, folder, env)).toEqual({ problem: expect.stringMatching(problem) });
});

test('a file that changes while it runs is told from one that does not', () => {
  const ran = measureExecutable('./run.sh', folder, env);
  expect(ran).toMatchObject({
    of: 'executable',
    name: 'run.sh',
    digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  expect(ran.changed?.()).toBeUndefined();
  writeFileSync(join(folder, 'run.sh'), 'other');
  expect(ran.changed?.()).toBe('run.sh was changed during the run');
  rmSync(join(folder, 'run.sh'));
  expect(ran.changed?.()).toMatch(/^run.sh could not be read again after the run \(ENOENT/);
  expect(measureExecutable('a; b', folder, env)).toEqual({
    of: 'executable',
    problem: expect.stringMatching(/simple/),
  });
});
