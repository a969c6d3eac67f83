import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { muster, reportIn, typed, useFolder } from '../../harness/cli/testing/muster.ts';

const at = useFolder();
const PLAIN = join(import.meta.dirname, '../../simulators/plain/device.ts');

test('an agent that refuses a torn log fails only the requirement of torn lines', async () => {
  const strict = readFileSync(PLAIN, 'utf8').replace(
    'const text = readFile(EVENTS);',
    "$& if (!['', '\\n'].includes(text.slice(-1))) throw new Error('the log is torn');",
  );
  writeFileSync(at('strict.ts'), strict);
  const [socket, control, file] = [at('agent.sock'), at('control.sock'), at('report.json')];
  const served = `--dir ${at('.')} --socket ${socket} --control ${control}`;
  const command = `exec ${process.execPath} ${at('strict.ts')} ${served}`;
  const only = ['device.log.*', 'device.events.expired.*', 'device.deployment.*'];
  const where = typed`--socket ${socket} --control ${control} --only ${only} --report json=${file}`;
  const { code } = await muster('check', 'device', '--command', command, '--fast', ...where);
  const { checks } = reportIn(file);
  const red = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id }) => id)).toEqual(['device.log.torn-tail']);
  expect(red[0]?.actual).toContain('ended with exit code 1');
  expect(code).toBe(1);
}, 240_000);
