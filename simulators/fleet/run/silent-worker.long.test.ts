import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../common/testing/eventually.ts';
import { exitCode } from '../result/result.ts';
import { runFleet } from './run.ts';
import { runOptionsIn } from './testing/options.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-silent-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Process ids of the workers that this process has started. */
function workers(): number[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ');
  return children.filter((pid) => pid !== '' && /worker\.[jt]s/.test(commandOf(pid))).map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** How many robots serve. */
const sockets = (): number =>
  readdirSync(join(root, 'robots'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isSocket())
    .length;

/** Runs 4 robots, and stops the first of their workers for good as soon as all of them serve. */
async function stopForGood(count: number, phases: string) {
  const scenario = `uplink: none\nphases:\n  - { do: ramp, over: 0s }\n${phases}`;
  const running = runFleet(runOptionsIn(root, scenario, { robots: 4, workers: count, silentMs: 4000 }));
  await eventually(() => expect(sockets()).toBe(4));
  expect(workers()).toHaveLength(count);
  process.kill(workers()[0] ?? 0, 'SIGSTOP');
  const result = await running;
  expect(workers()).toEqual([]);
  return result;
}

const LOST = /^worker 1 is lost: worker 1 \(process \d+\) ended: it gave no sign of life for 4 s$/;

it('ends incomplete, and names the worker, when one of two is stopped for good', async () => {
  const result = await stopForGood(2, '  - { do: hold, for: 2s }\n  - { do: hold, for: 2s }\n');
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(result.phases.map((phase) => phase.do)).toEqual(['ramp', 'hold', 'hold']);
  expect(exitCode(result)).toBe(2);
});

it('ends incomplete, and names the worker, when the only one is stopped for good', async () => {
  const result = await stopForGood(1, '  - { do: hold, for: 2s }\n  - { do: hold, for: 1h }\n');
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(exitCode(result)).toBe(2);
});

it('ends incomplete when the worker that it is to kill is stopped for good', async () => {
  const result = await stopForGood(
    1,
    '  - { do: hold, for: 1s }\n  - { do: kill-worker }\n  - { do: hold, for: 1h }\n',
  );
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(exitCode(result)).toBe(2);
});
