import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type ControlInfo, controlCompacted, controlInfo, controlPublished } from '../../harness/contract/control.ts';
import { deployment } from '../../harness/contract/device-api.ts';
import { scratch } from '../common/testing/scratch.ts';
import { willingControl } from './controls.ts';

test('a willing control answers every request in the right shape, and does nothing', async () => {
  using home = scratch();
  await using control = await willingControl({ port: 0 }, home.path);
  const post = async (path: string, body: object = {}) => {
    const response = await fetch(control.address + path, { method: 'POST', body: JSON.stringify(body) });
    return response.status === 204 ? 204 : ((await response.json()) as Record<string, string>);
  };
  const info = (await (await fetch(control.address)).json()) as Required<ControlInfo>;
  expect(controlInfo.problems(info)).toEqual([]);
  const wanted = { description: 'd', activity_status: 'queued', error_status: 'retrying' };
  const deployed = await post('/deployments', wanted);
  expect(deployment.problems(deployed)).toEqual([]);
  expect(deployed).toMatchObject({ ...wanted, status: 'retrying' });
  const { id } = deployed as { id: string };
  expect(await post(`/deployments/${id}/remove`)).toMatchObject({ id, description: 'd', status: 'archived' });
  const published = await post('/events', { count: 5 });
  expect(controlPublished.problems(published)).toEqual([]);
  expect(published).toEqual({ first_id: 3, last_id: 7 });
  const compacted = await post('/compact');
  expect(controlCompacted.problems(compacted)).toEqual([]);
  expect(compacted).toEqual({ earliest_id: 4, latest_id: 7 });
  expect([await post('/stop', { signal: 'SIGKILL' }), await post('/start')]).toEqual([204, 204]);
  expect(readFileSync(info.event_log, 'utf8')).toBe('');
  expect(readdirSync(info.config_root)).toEqual([]);
});
