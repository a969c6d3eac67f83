import { globSync, mkdirSync, statSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { poll } from '../common/waiting.ts';
import { familyOf, noFaketime, turnableClock } from './fleet-faults/testing/faults.ts';
import { MAIN, Running, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const LONGEST_MS = 900_000;
vi.setConfig({ testTimeout: LONGEST_MS });
const onLinux = test.skipIf(process.platform !== 'linux');
const SLEEP_MS = 20_000;

function checkOfDevice(name: string, env: Record<string, string> = {}) {
  mkdirSync(at(name));
  // Shares no lock of libfaketime, because a killed agent that holds the lock would stop the check forever.
  const agent = ['env', '-u', 'FAKETIME_SHARED', process.execPath, MAIN, 'simulate', 'device', '--heartbeat', '1s'];
  const command = [...agent, ...typed`--socket {socket} --control {control} --dir {dir}`].join(' ');
  const words = typed`check device --command ${command} --fast --report json=${at(name, 'report.json')}`;
  const run = new Running(words, { env: { TMPDIR: at(name), ...env } });
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const size = () => globSync(at(name, 'muster-*/agent/events.jsonl')).reduce((sum, file) => sum + sizeOf(file), 0);
  const wait = { timeoutMs: LONGEST_MS, firstPauseMs: 20 };
  const look = () => {
    if (run.child.exitCode !== null) throw new Error(`the check ended before it was in its middle: ${run.stdout}`);
    return size() > 100_000 || undefined;
  };
  return { run, begun: () => poll('events in its log', look, wait) };
}

async function expectNothingRed(name: string, run: Running): Promise<void> {
  const { code, stdout, stderr } = await run.ended;
  const { checks, complete } = reportIn(at(name, 'report.json'));
  const red = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => `${id}: ${actual ?? reason}`).join('\n'), stdout).toBe('');
  expect(checks.filter(({ outcome }) => outcome === 'pass').length).toBeGreaterThan(60);
  expect(code, stderr).toBe(0);
  expect(complete).toBe(false);
}

const SLEEPERS: readonly [name: string, (all: readonly number[]) => readonly number[]][] = [
  ['the check', ([check = 0]) => [check]],
  ['the target', ([, ...target]) => target],
  ['both, as on a laptop', (all) => all],
];

onLinux.each(SLEEPERS)('a check reports no failure after 20 s of sleep: %s', async (name, pick) => {
  const folder = name.replaceAll(/\W/g, '-');
  const { run, begun } = checkOfDevice(folder);
  await using _ = run;
  await begun();
  const asleep = pick(familyOf(run.child.pid ?? 0));
  expect(asleep.length).toBeGreaterThan(0);
  for (const pid of asleep) process.kill(pid, 'SIGSTOP');
  await delay(SLEEP_MS);
  for (const pid of asleep) process.kill(pid, 'SIGCONT');
  await expectNothingRed(folder, run);
});

test.skipIf(noFaketime !== '')(`a check reports no failure while the clock jumps by years${noFaketime}`, async () => {
  const { turn, env } = turnableClock(at('clock'));
  const { run, begun } = checkOfDevice('jumps', env);
  await using _ = run;
  await begun();
  let jumps = 0;
  const steps = ['+1h', '-1h', '+1y', '-1y', '+0'];
  const jumping = setInterval(() => turn(steps[jumps++ % steps.length] ?? ''), 200);
  run.ended.finally(() => clearInterval(jumping)).catch(() => {});
  await expectNothingRed('jumps', run);
  expect(jumps).toBeGreaterThan(steps.length);
});
