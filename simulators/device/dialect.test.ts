import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AgentDeployment } from '../../harness/contract/agent.ts';
import { DIALECTS } from '../../harness/contract/versions.ts';
import { DeployError } from './index.ts';
import { type Robot, robot } from './testing/robot.ts';

type Ask = (on: Robot) => Promise<unknown>;

const code = (path: string): Ask => {
  return async (on) => {
    const { status, json } = await on.ask(path);
    return [status, (json as { error: { code: string } }).error.code];
  };
};
const status = (query: string): Ask => {
  return async (on) => (await on.ask(`/events?${query}`, { method: 'HEAD' })).status;
};
const body = (path: string, method = 'GET'): Ask => {
  return async (on) => {
    const { status, text, headers } = await on.ask(path, { method });
    return [status, text === '' ? 'nothing' : 'JSON', headers.allow];
  };
};
const header = (name: string, path: string, method = 'GET'): Ask => {
  return async (on) => (await on.ask(path, { method })).headers[name];
};
const firstEvent = async (on: Robot) => {
  const stream = await on.listen('?after=9');
  const [event] = await stream.count(1);
  return { ...event?.envelope, comments: stream.comments };
};

/** The robot retains events 3 to 10. */
const ROWS: [what: string, ask: Ask, spec: unknown, miru: unknown][] = [
  ['no current deployment', code('/deployments/current'), [404, 'deployment_not_found'], [404, 'resource_not_found']],
  ['an unknown release', code('/releases/rls_none'), [404, 'release_not_found'], [404, 'resource_not_found']],
  ['a malformed cursor', code('/events?after=x'), [400, 'invalid_cursor'], [400, 'malformed_cursor']],
  ['a negative cursor', status('after=-1'), 400, 410],
  ['a cursor with a plus', status('after=%2B5'), 400, 200],
  ['a cursor twice', header('content-type', '/events?after=4&after=5'), 'application/json', 'text/plain'],
  ['after=0 behind a compaction', status('after=0'), 410, 200],
  ['the id before the earliest', status('after=2'), 200, 410],
  [
    'an expired cursor',
    async (on) => (await on.ask('/events?after=1')).json,
    { error: expect.objectContaining({ code: 'cursor_expired', params: { earliest_id: 3, latest_id: 10 } }) },
    { error: expect.objectContaining({ params: {}, message: expect.stringMatching(/earliest .* is 3$/) }) },
  ],
  ['an unknown path', body('/nothing'), [404, 'JSON', undefined], [404, 'nothing', undefined]],
  ['a wrong method', body('/events', 'POST'), [405, 'JSON', 'GET, HEAD'], [405, 'nothing', 'GET,HEAD']],
  [
    'headers of JSON',
    async (on) => {
      const { headers } = await on.ask('/health', { headers: { Connection: 'keep-alive' } });
      return [headers['cache-control'], headers.connection, headers['keep-alive']];
    },
    ['no-store', 'keep-alive', 'timeout=5'],
    [undefined, undefined, undefined],
  ],
  ['headers of the stream', header('cache-control', '/events', 'HEAD'), 'no-store', 'no-cache'],
  ['the opening of a stream', async (on) => (await firstEvent(on)).comments, ['heartbeat'], []],
  [
    'times and members of an event',
    async (on) => {
      const { object, data, occurred_at } = await firstEvent(on);
      return [object, Object.keys(data ?? {})[0], occurred_at?.replace(/\d/g, 'd')];
    },
    ['event', 'deployment_id', 'dddd-dd-ddTdd:dd:dd.dddZ'],
    ['event', 'activity_status', 'dddd-dd-ddTdd:dd:dd.ddddddddd+dd:dd'],
  ],
  ['a stored line', async (on) => readFileSync(`${on.dir}/events.jsonl`, 'utf8').slice(0, 9), '{"object"', '{"id":3,"'],
];

describe.for(DIALECTS)('in dialect %s', (dialect) => {
  test.for(ROWS)('%s', async ([, ask, spec, miru]) => {
    await using on = await robot({ dialect });
    await on.device.publish(10);
    await on.device.compact();
    expect(await ask(on)).toEqual({ spec, miru }[dialect]);
  });

  test('an impossible deployment is final in spec, and retryable in miru', async () => {
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
