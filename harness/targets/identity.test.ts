import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executableOf, identityOf, measureExecutable } from './identity.ts';
import type { MeasuredImplementation } from './launch/started.ts';
import { temporaryFolder } from './testing/places.ts';

const folder = temporaryFolder();
const artifact = join(folder, 'agent.bin');
writeFileSync(artifact, 'content');
const digest = `sha256:${createHash('sha256').update('content').digest('hex')}`;

test.each<[object, object, MeasuredImplementation | undefined, object]>([
  [{}, {}, undefined, {}],
  [{ name: 'o' }, { name: 'f', version: '2' }, undefined, { name: 'o', version: '2' }],
  [{ artifact }, {}, undefined, { artifact: { name: 'agent.bin', digest } }],
  [{}, {}, { of: 'image', digest: 'sha256:1' }, { digest: 'sha256:1', digest_of: 'image' }],
  [{}, {}, { of: 'executable', name: 'a', digest: 'd' }, { digest: 'd', digest_of: 'executable', executable: 'a' }],
  [{}, {}, { of: 'executable', problem: 'it is a script' }, { digest_missing: 'it is a script' }],
  [{}, {}, { of: 'executable' }, {}],
])('an identity comes from the options %j, the file %j and the run %j', (options, file, ran, identity) => {
  expect(identityOf(options, file, ran)).toEqual(identity);
});

test('an artifact that cannot be read is refused', () => {
  expect(() => identityOf({ artifact: '/none' }, {}, undefined)).toThrow(/^artifact \/none: cannot be read/);
});

const agent = join(folder, 'an agent');
writeFileSync(agent, 'content', { mode: 0o755 });
mkdirSync(join(folder, 'folder'));

test.each([
  [`'${agent}' --socket x`, agent],
  [`exec "${agent}" > log 2>&1`, agent],
  [String.raw`A_B=1 exec ./an\ agent 2>>log`, agent],
  ['./agent # its agent', 'the command is more than one simple command'],
  ['"an agent"', agent],
  ['', 'the command executes no file'],
  ['A=1', 'the command executes no file'],
  ['echo on', 'the command executes no file'],
  ['./agent | tee log', 'the command is more than one simple command'],
  ['PATH=. agent', 'the command sets PATH'],
  ['python3.12 agent.py', 'python3.12 runs another program'],
  ['npm run -s agent', 'npm runs another program'],
  ['/usr/bin/env agent', 'env runs another program'],
  ['./agent-*', 'the shell decides what ./agent-* is'],
  ['./agent.bin', 'no executable file ./agent.bin was found'],
  ['./folder', 'no executable file ./folder was found'],
  ['agent-that-is-nowhere', 'no executable file agent-that-is-nowhere was found'],
])('the executable of %s is found, or the reason is given', (line, found) => {
  const expected = found === agent ? { file: agent } : { problem: found };
  expect(executableOf(line, folder, { PATH: `/nonexistent:${folder}` })).toEqual(expected);
});

test('an empty entry of PATH is the folder itself', () => {
  expect(executableOf('"an agent"', folder, { PATH: `/nonexistent:/${'x'.repeat(300)}:` })).toEqual({ file: agent });
  expect(executableOf('"an agent"', folder, { PATH: '/nonexistent' })).toHaveProperty('problem');
});

test('an executable is measured before a run, and compared after it', () => {
  const measured = join(folder, 'a measured agent');
  writeFileSync(measured, 'content', { mode: 0o755 });
  const ran = measureExecutable("'./a measured agent'", folder, {});
  expect(ran).toEqual({ of: 'executable', name: 'a measured agent', digest, changed: expect.any(Function) });
  expect(ran.changed?.()).toBeUndefined();
  writeFileSync(measured, 'other');
  expect(ran.changed?.()).toBe('a measured agent was changed during the run');
  rmSync(measured);
  expect(ran.changed?.()).toMatch(/^a measured agent could not be read again after the run \(.+\)$/);
  expect(measureExecutable('true', folder, {})).toEqual({ of: 'executable', problem: 'the command executes no file' });
});
