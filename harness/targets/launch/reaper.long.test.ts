import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { expect, test } from 'vitest';
import { eventually } from '../../../simulators/common/testing/scratch.ts';

const script = (then: string): string => `
import { ProcessGroup } from ${JSON.stringify(new URL('./process.ts', import.meta.url).href)};
const ready = (line) => new Promise((resolve) => {
  let text = '';
  new ProcessGroup(line, process.env, { onStdout: (output) => /\\n/.test(text += output) && resolve(text.trim()) });
});
const groups = await Promise.all([
  ready("trap '' TERM; sleep 600 & echo $$; while :; do wait; done"),
  ready('sleep 600 & echo $$; wait'),
]);
process.stdout.write(groups.join(' ') + '\\n', () => { ${then} });
`;

async function groupsOf(then: string): Promise<{ groups: number[]; end: () => void; ended: Promise<unknown> }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script(then)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let text = '';
  for await (const part of child.stdout.setEncoding('utf8')) {
    text += part;
    if (text.includes('\n')) break;
  }
  return { groups: text.trim().split(' ').map(Number), end: () => child.kill('SIGKILL'), ended };
}

const lives = (group: number): boolean => {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
};

test.concurrent('a killed process takes its commands with it, even if they ignore SIGTERM', async () => {
  const { groups, end, ended } = await groupsOf('');
  expect(groups.map(lives)).toEqual([true, true]);
  end();
  await ended;
  await eventually(() => expect(groups.filter(lives)).toEqual([]));
});

test.concurrent('an exiting process takes its commands with it', async () => {
  const { groups, ended } = await groupsOf('process.exit(3)');
  await ended;
  await eventually(() => expect(groups.filter(lives)).toEqual([]));
});
