import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { expect, test } from 'vitest';
import { eventually } from '../../../simulators/common/testing/scratch.ts';
import { lives } from '../../common/testing/processes.ts';

const SCRIPT = `
import { ProcessGroup } from ${JSON.stringify(new URL('./process.ts', import.meta.url).href)};
const ready = (line) => new Promise((resolve) => {
  let text = '';
  new ProcessGroup(line, process.env, { onStdout: (output) => /\\n/.test(text += output) && resolve(text.trim()) });
});
const groups = await Promise.all([
  ready("trap '' TERM; sleep 600 & echo $$; while :; do wait; done"),
  ready('sleep 600 & echo $$; wait'),
]);
process.stdout.write(groups.join(' '));
`;

test('a killed process takes its commands with it, even if they ignore SIGTERM', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [written] = await once(child.stdout, 'data');
  const groups = String(written)
    .split(' ')
    .map((leader) => -Number(leader));
  expect(groups.map(lives)).toEqual([true, true]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await eventually(() => expect(groups.filter(lives)).toEqual([]));
});
