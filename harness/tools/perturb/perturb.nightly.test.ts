import { expect, it } from 'vitest';
import { useFolder } from '../../cli/testing/muster.ts';
import { type Tried, tryOut } from './outcome.ts';
import type { Perturbation } from './perturbation.ts';
import { SERVERS, type Server } from './servers.ts';

const inFolder = useFolder();
const [node] = SERVERS as [Server];

const tried = (it: Pick<Perturbation, 'api' | 'kind' | 'cell'> & Partial<Perturbation>): Promise<Tried> =>
  tryOut({ seed: 7, server: node.name, ...it }, node.start(it.api, inFolder()));

it.each([
  {
    api: 'platform',
    kind: 'dropped',
    cell: { operation: 'GET /devices', connection: 'kept' },
    path: ['id'],
    item: 'each',
  },
  { api: 'device', kind: 'lost', cell: { operation: 'GET /events', phase: 'live' } },
] as const)('a wrong change of the $api API is found', async (given) => {
  const { outcome, found } = await tried(given);
  expect({ outcome, apis: new Set(found.map((id) => id.split('.')[0])) }).toEqual({
    outcome: 'red',
    apis: new Set([given.api]),
  });
});

it.each([
  { api: 'platform', kind: 'members-reversed', cell: {} },
  { api: 'device', kind: 'fields-reversed', cell: {} },
] as const)('a legal change of the $api API is not found', async (given) => {
  const { outcome, found, changed } = await tried(given);
  expect({ outcome, found }).toEqual({ outcome: 'unseen', found: [] });
  expect(changed).toBeGreaterThan(10);
});
