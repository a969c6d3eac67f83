import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { random } from '../../common/random.ts';
import { Metrics } from '../measure/metrics.ts';
import { PlatformClient } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { Deadlines, monotonicMs } from '../schedule/schedule.ts';
import { Actions } from './actions.ts';
import { addFailure, type FailedAction, failureText, type WorkerConfig } from './worker.ts';

const failed = (kind: string, robot: string, message: string): FailedAction => ({ kind, robot, message, count: 1 });

it('failures that differ only in the robot are counted together, others kept', () => {
  const failures: FailedAction[] = [];
  for (let robot = 0; robot < 1200; robot += 1) addFailure(failures, failed('ping', `robot-${robot}`, 'HTTP 500'));
  for (const kind of ['list', 'ping']) addFailure(failures, failed(kind, 'robot-1', 'HTTP 503'));
  expect(failures.map(failureText)).toEqual([
    'ping of robot-0: HTTP 500 (1,200 times)',
    'list of robot-1: HTTP 503',
    'ping of robot-1: HTTP 503',
  ]);
  for (let other = 0; other < 9; other += 1) addFailure(failures, failed('read', 'robot-1', `HTTP 40${other}`));
  expect(failures).toHaveLength(6);
  expect(failures.map(failureText).at(-1)).toBe('others: failed in other ways (7 times)');
});

it('requests that fail alike are one line with a count, and a failed ping counts in http.errors', async () => {
  const { url } = await served(
    createServer(({ method }, response) => response.writeHead(method === 'POST' ? 500 : 200).end('busy')),
  );
  const client = new PlatformClient({ url, apiKey: 'key' });
  const config = { scenario: { name: 'x', phases: [] }, robots: 1000 } as unknown as WorkerConfig;
  const actions = new Actions({ config, client, deadlines: new Deadlines(), keys: undefined, onExhausted: () => {} });
  const [metrics, outcome] = [new Metrics(), actions.begin(false)];
  const phase = { do: 'hold', for: '1s' } as const;
  const plan = { phase, index: 0, round: 0, at: 0, release: undefined, burst: false, record: metrics.of(), outcome };
  for (const index of [0, 1, 2]) {
    const robot = { index, name: `robot-${index}`, deviceId: `dvc_${index}`, state: 'online' } as Robot;
    const action = { ...plan, robot, intended: monotonicMs(), pages: random(`${index}`) };
    for (const kind of ['ping', 'list'] as const) await actions.carryOut({ ...action, kind });
  }
  await client.close();
  expect(metrics.snapshot().counters).toMatchObject({ 'ping.errors': 3, 'http.attempts': 6, 'http.errors': 6 });
  expect(outcome.failures.map(failureText)).toEqual([
    'ping of robot-0: HTTP 500: busy (POST /devices/{device}/ping) (3 times)',
    'list of robot-0: GET /devices was not answered with JSON (3 times)',
  ]);
});
