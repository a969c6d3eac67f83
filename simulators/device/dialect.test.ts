/** The surface of both dialects, row by row, on the wire. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AgentDeployment } from '../../harness/contract/agent.ts';
import { DIALECTS, type Dialect } from '../../harness/contract/versions.ts';
import { DeployError } from './index.ts';
import { type Answer, type Robot, robot } from './testing/robot.ts';

type Row = [what: string, ask: (on: Robot) => Promise<unknown>, expected: Record<Dialect, unknown>];

const code = ({ status, json }: Answer) => [status, (json as { error: { code: string } }).error.code];
const status = async (on: Robot, query: string): Promise<unknown> => {
  const answer = await on.ask(`/events?${query}`, { method: 'HEAD' });
  return answer.status;
};
const body = async (on: Robot, path: string, method = 'GET') => {
  const { status, text, headers } = await on.ask(path, { method });
  return [status, text === '' ? 'nothing' : 'JSON', headers.allow];
};

/** Of a robot with a log from 3 to 10. */
const ROWS: Row[] = [
  [
    'no current deployment',
    async (on) => code(await on.ask('/deployments/current')),
    {
      spec: [404, 'deployment_not_found'],
      miru: [404, 'resource_not_found'],
    },
  ],
  [
    'an unknown release',
    async (on) => code(await on.ask('/releases/rls_none')),
    {
      spec: [404, 'release_not_found'],
      miru: [404, 'resource_not_found'],
    },
  ],
  [
    'a malformed cursor',
    async (on) => code(await on.ask('/events?after=x')),
    {
      spec: [400, 'invalid_cursor'],
      miru: [400, 'malformed_cursor'],
    },
  ],
  ['a negative cursor', (on) => status(on, 'after=-1'), { spec: 400, miru: 410 }],
  ['a cursor with a plus', (on) => status(on, 'after=%2B5'), { spec: 400, miru: 200 }],
  [
    'a cursor twice',
    async (on) => (await on.ask('/events?after=4&after=5')).headers['content-type'],
    {
      spec: 'application/json',
      miru: 'text/plain',
    },
  ],
  ['after=0 behind a compaction', (on) => status(on, 'after=0'), { spec: 410, miru: 200 }],
  ['the id before the earliest', (on) => status(on, 'after=2'), { spec: 200, miru: 410 }],
  [
    'an expired cursor',
    async (on) => (await on.ask('/events?after=1')).json,
    {
      spec: { error: expect.objectContaining({ code: 'cursor_expired', params: { earliest_id: 3, latest_id: 10 } }) },
      miru: { error: expect.objectContaining({ params: {}, message: expect.stringMatching(/earliest .* is 3$/) }) },
    },
  ],
  [
    'an unknown path',
    (on) => body(on, '/nothing'),
    { spec: [404, 'JSON', undefined], miru: [404, 'nothing', undefined] },
  ],
  [
    'a wrong method',
    (on) => body(on, '/events', 'POST'),
    { spec: [405, 'JSON', 'GET, HEAD'], miru: [405, 'nothing', 'GET,HEAD'] },
  ],
  [
    'headers of JSON',
    async (on) => {
      const { headers } = await on.ask('/health', { headers: { Connection: 'keep-alive' } });
      return [headers['cache-control'], headers.connection, headers['keep-alive']];
    },
    { spec: ['no-store', 'keep-alive', 'timeout=5'], miru: [undefined, undefined, undefined] },
  ],
  [
    'headers of the stream',
    async (on) => (await on.ask('/events', { method: 'HEAD' })).headers['cache-control'],
    {
      spec: 'no-store',
      miru: 'no-cache',
    },
  ],
  [
    'the opening of a stream',
    async (on) => {
      const stream = await on.listen('?after=9');
      await stream.count(1);
      return stream.comments;
    },
    { spec: ['heartbeat'], miru: [] },
  ],
  [
    'times and members of an event',
    async (on) => {
      const stream = await on.listen('?after=9');
      const [event] = await stream.count(1);
      const { object, data, occurred_at } = event?.envelope ?? {};
      return [object, Object.keys(data ?? {})[0], occurred_at?.replace(/\d/g, 'd')];
    },
    {
      spec: ['event', 'deployment_id', 'dddd-dd-ddTdd:dd:dd.dddZ'],
      miru: ['event', 'activity_status', 'dddd-dd-ddTdd:dd:dd.ddddddddd+dd:dd'],
    },
  ],
  [
    'a line of the log',
    async (on) => readFileSync(`${on.dir}/events.jsonl`, 'utf8').slice(0, 9),
    {
      spec: '{"object"',
      miru: '{"id":3,"',
    },
  ],
];

describe.for(DIALECTS)('in dialect %s', (dialect) => {
  test.for(ROWS)('%s', async ([, ask, expected]) => {
    await using on = await robot({ dialect });
    await on.device.publish(10);
    await on.device.compact();
    expect(await ask(on)).toEqual(expected[dialect]);
  });

  test('a log is read again after a restart, and replayed whole', async () => {
    await using on = await robot({ dialect });
    await on.device.publish(5);
    await on.device.stop();
    await on.device.start();
    await on.device.publish(1);
    const stream = await on.listen('?after=0');
    await stream.count(6);
    expect(stream.events.map(({ id, envelope }) => [id, envelope.id, envelope.object])).toEqual(
      [1, 2, 3, 4, 5, 6].map((id) => [id, id, 'event']),
    );
  });

  test('a deployment of the platform that can never work ends, or is retried for ever', async () => {
    await using on = await robot({ dialect });
    const { port } = on.device;
    const deployment = (id: string) =>
      ({ id, description: '', release_id: 'rls_1', created_at: '' }) as AgentDeployment;
    const file = (filepath: string) => [{ filepath, content: Buffer.from('{}') }];
    await port.deploy(deployment('dpl_1'), file('/a.json'));
    const wanted = deployment('dpl_2');
    const failure: unknown = await port.deploy(wanted, file(`/${'x'.repeat(300)}`)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DeployError);
    expect(failure).toMatchObject({ retryable: dialect === 'miru' });
    await port.fail(wanted, 'retrying');
    expect((await on.ask('/deployments/current')).status).toBe(dialect === 'miru' ? 404 : 200);
    const empty = port.deploy(deployment('dpl_3'), []);
    if (dialect === 'miru') await expect(empty).rejects.toMatchObject({ retryable: true });
    else await empty;
    await port.deploy(deployment('dpl_4'), file('/b.json'));
    expect((await on.ask('/deployments/current')).json).toMatchObject({ id: 'dpl_4', status: 'deployed' });
  });
});
