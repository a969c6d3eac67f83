import { expect, test } from 'vitest';
import type { ClientRequest } from './server.ts';
import { MOST_REFUSED, Repeats } from './storm.ts';

type Given = Partial<Pick<ClientRequest, 'answered' | 'status' | 'sent'>> & { search?: string; cursor?: string };

function saidOf(requests: readonly Given[], eachMs: number): string | undefined {
  let now = 0;
  const repeats = new Repeats(() => now);
  for (const { search = '', cursor, ...answer } of requests) {
    const headers = cursor === undefined ? {} : { 'last-event-id': cursor };
    const asked = { method: 'GET', path: '/beta/devices', query: new URLSearchParams(search), headers, body: '' };
    repeats.take({ ...asked, cursor, sent: '', ...answer } as ClientRequest);
    now += eachMs;
  }
  return repeats.words;
}
const times = (count: number, given: (index: number) => Given): Given[] =>
  Array.from({ length: count }, (_, index) => given(index));
const page = { answered: 'whole', status: 200, sent: '{"data":[]}' } as const;
const refusal = { answered: 'whole', status: 403, sent: '{}' } as const;

test('detection finds a client that requests the same pages in a circle', () => {
  const circle = times(40, (index) => ({ ...page, search: `offset=${index % 2}` }));
  expect(saidOf(circle, 10)).toContain('20 times');
});

test.each<[string, Given[], number]>([
  ['asks for a page a few times', times(19, () => page), 1],
  ['asks for many pages', times(200, (index) => ({ ...page, search: `offset=${index}` })), 1],
  ['asks for what changes', times(60, (index) => ({ ...page, sent: `{"data":[${index}]}` })), 1],
  ['asks with a pause for what is refused', times(200, () => refusal), 101],
  ['asks as often as it may for what is refused', times(MOST_REFUSED, () => refusal), 1],
  ['asks several times before an answer comes', times(60, () => ({})), 1],
  ['reads one stream after another', times(60, () => ({ status: 200 })), 1],
  ['moves on in the end', [...times(25, () => page), { ...page, search: 'offset=50' }], 10],
])('detection ignores a client that %s', (_, requests, eachMs) => {
  expect(saidOf(requests, eachMs)).toBeUndefined();
});
