import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { muster, reportIn, typed, useFolder } from '../../harness/cli/testing/muster.ts';

const at = useFolder();
const PLAIN = join(import.meta.dirname, '../../simulators/plain/device.ts');

test.each([
  ['ends', "throw new Error('the log is torn')", 'ended with exit code 1'],
  ['hangs', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', 'within 10 s'],
])(
  'an agent that %s on a torn log fails only the requirement of torn lines',
  async (name, how, actual) => {
    const strict = readFileSync(PLAIN, 'utf8').replace(
      'const text = readFile(EVENTS);',
      `$& if (!['', '\\n'].includes(text.slice(-1))) ${how};`,
    );
    writeFileSync(at('strict.ts'), strict);
    mkdirSync(at(name));
    writeFileSync(at('target.yaml'), 'device: { start_seconds: 10 }\n');
    const [socket, control, file] = [at('agent.sock'), at('control.sock'), at('report.json')];
    const served = `--dir ${at(name)} --socket ${socket} --control ${control}`;
    const command = `exec ${process.execPath} ${at('strict.ts')} ${served}`;
    const only = ['device.log.*', 'device.events.expired.*', 'device.deployment.*'];
    const where = typed`--target ${at('target.yaml')} --socket ${socket} --control ${control} --only ${only} --fast`;
    const { code } = await muster('check', 'device', '--command', command, ...where, '--report', `json=${file}`);
    const { checks } = reportIn(file);
    const red = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
    expect(red.map(({ id }) => id)).toEqual(['device.log.torn-tail']);
    expect(red[0]?.actual).toContain(actual);
    expect(code).toBe(1);
  },
  240_000,
);
