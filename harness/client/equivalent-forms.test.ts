import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { EQUIVALENT_FORMS, type Form } from './equivalent-forms.ts';
import { Recorder } from './recorder.ts';
import { clientOf } from './testing/served.ts';

interface Came {
  request: IncomingMessage;
  body: string;
}

async function sent(form?: Form): Promise<Came> {
  const came = Promise.withResolvers<Came>();
  const server = createServer(async (request, response) => {
    came.resolve({ request, body: await text(request) });
    response.end('{}');
  });
  const http = await clientOf(server, { recorder: new Recorder(undefined, undefined, form) });
  const query = { limit: 10, expand: ['total_count', 'ä&b'], name: 'x y' };
  await http.post('/devices', { name: 'ü' }, { query, headers: { 'x-api-key': 'key' } });
  return came.promise;
}

const wire = ({ request: { url, rawHeaders } }: Came): string =>
  [url, ...rawHeaders].join('\n').replaceAll(/127\.0\.0\.1:\d+/g, '');

function meaning({ request: { method, url = '', headers }, body }: Came) {
  const { searchParams, pathname } = new URL(url, 'http://target');
  searchParams.delete('_');
  searchParams.sort();
  const { 'x-api-key': key, 'content-type': type } = headers;
  return { method, pathname, parameters: searchParams.toString(), key, type, body };
}

test.each(EQUIVALENT_FORMS)('a request $name differs in bytes and keeps its meaning', async (form) => {
  const usual = await sent();
  const other = await sent(form);
  expect(meaning(other)).toEqual(meaning(usual));
  expect(wire(other)).not.toBe(wire(usual));
});

test('a curl line unpacks an answer in the codings that its request accepts', async () => {
  const http = await clientOf('http://127.0.0.1:9');
  const curl = async (agent: string): Promise<string> => {
    await http.get('/', { headers: { 'user-agent': agent } }).catch(() => {});
    return http.recorder.exchanges.at(-1)?.curl ?? '';
  };
  expect(await curl('Go-http-client/1.1')).toMatch(/ --compressed .*-H 'accept-encoding: gzip'/);
  expect(await curl('curl/7.88.1')).not.toContain('--compressed');
});

test('a form leaves a query unchanged when it is text or in the path', async () => {
  for (const form of EQUIVALENT_FORMS) {
    const http = await clientOf('http://127.0.0.1:9', { recorder: new Recorder(undefined, undefined, form) });
    await http.get('/x', { query: 'limit=1&a=b' }).catch(() => {});
    await http.get('/x?limit=1').catch(() => {});
    expect(http.recorder.exchanges.map(({ url }) => new URL(url).search)).toEqual(['?limit=1&a=b', '?limit=1']);
  }
});
