import { expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Exchange } from './exchange.ts';
import { operation } from './explorer.ts';
import { Model } from './model.ts';
import { judge } from './refusals.ts';

const asked = { method: 'GET', url: 'http://platform/devices', duration_ms: 1, curl: 'curl' };
const answer = (status: number, query: Exchange['query']): Exchange => ({
  ...{ operation: operation('listDevices'), version: NEWEST_VERSION, key: 'limited', ids: [], query, asked, status },
  ...{ headers: {}, json: undefined, text: '' },
});

it.each([
  ['accepts the refusal of an expansion, which may need a scope of its own', [['expand', 'group']], []],
  ['finds the refusal of a plain list that was served before', [], ['refused']],
] as const)('%s', (_, query, found) => {
  const model = new Model();
  judge(model, answer(200, []));
  const refused = judge(model, answer(403, query)).filter(({ path }) => path === '');
  expect(refused.map(({ what }) => what)).toEqual(found);
});
