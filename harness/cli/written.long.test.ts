/** What a target writes stands with the finding in whose seconds it was written, without what Muster provoked. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { muster, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

/** Lists one device, and pings it with an unguarded JSON.parse. */
const PLATFORM = `
import { createServer } from 'node:http';
const trace = (text) => console.error(text + '\\n    at handler (platform.mjs:7:11)');
const device = { object: 'device', id: 'dvc_1', name: 'a', status: 'offline', agent_version: '1', group_id: null,
  last_connected_at: null, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
const server = createServer(async (request, response) => {
  const answer = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    trace('Error: write EPIPE');
  };
  let body = '';
  for await (const part of request) body += part;
  const [path] = request.url.split('?');
  const list = (data) => ({ object: 'list', data, has_more: false, limit: 10, offset: 0, total_count: data.length });
  if (path === '/beta/devices') return answer(200, list([device]));
  if (request.method === 'GET') return answer(200, list([]));
  try {
    const { timeout_nanos } = JSON.parse(body);
    answer(Number.isInteger(timeout_nanos) ? 200 : 400, { code: 'timed_out', round_trip_nanos: 0 });
  } catch (error) {
    trace(error.name + ': in the body of a ping');
    answer(500, {});
  }
});
console.error('starting, with secret of-the-target-7f3a');
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ ready: true, url: 'http://127.0.0.1:' + server.address().port + '/beta' }));
});
`;

test('a trace stands with its finding; those of closed connections, and earlier lines, do not', async () => {
  writeFileSync(at('platform.mjs'), PLATFORM);
  const words = typed`--only platform.ping.bad-body --fast --report pretty --report json=${at('r.json')}`;
  const command = `exec ${process.execPath} ${at('platform.mjs')}`;
  const { stdout, stderr } = await muster(
    ...typed`check platform --command ${command} --api-key of-the-target-7f3a ${words}`,
  );
  const [found] = reportIn(at('r.json')).checks;
  expect(found).toMatchObject({ outcome: 'warn', actual: expect.stringContaining('500') });
  expect(found?.stderr).toMatch(/^SyntaxError: in the body of a ping\n {4}at handler/m);
  expect(found?.stderr).not.toMatch(/EPIPE|starting|7f3a/);
  expect(stdout).toMatch(/wrote +.*SyntaxError: in the body of a ping/);
  expect(stderr).not.toContain('The target wrote');
});
