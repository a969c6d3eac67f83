/** Tests a platform that hangs on some requests: other requests are judged, and one cause is one finding. */
import { createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { leadsFirst } from '../../harness/runner/causes.ts';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { type PlatformPlace, startWorkspace } from '../../harness/tools/subjects/simulators.ts';

async function hanging(
  place: PlatformPlace,
  hangs: (request: IncomingMessage) => boolean,
): Promise<{ place: PlatformPlace } & AsyncDisposable> {
  const { origin, pathname } = new URL(place.url);
  const server = createServer((request, response) => {
    if (hangs(request)) return;
    const { method, headers } = request;
    const onward = send(new URL(request.url ?? '/', origin), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    place: { ...place, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}` },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('fails only the envelope of a collection that hangs', async () => {
  await using workspace = await startWorkspace();
  await using front = await hanging(
    await workspace.place(),
    ({ url }) => url?.startsWith('/beta/git_commits') === true,
  );
  const only = ['*.list.envelope', '*.list.items', '*.list.has-more', '*.list.walk-once', '*.auth.key-required'];
  const report = await runPlatformSuite(front.place, { only, patienceMs: 3000 });
  expect(resultsWith(report, 'fail')).toEqual([
    expect.stringMatching(/^platform\.list\.envelope fail: .*git_commits.*: no answer within/),
  ]);
  expect(resultsWith(report, 'blocked')).toEqual([]);
});

it('reports one finding for a platform that hangs on every creation', async () => {
  await using workspace = await startWorkspace();
  await using front = await hanging(
    await workspace.place(),
    ({ method, url }) => method === 'POST' && url?.startsWith('/beta/config_types') === true,
  );
  const only = ['platform.schema.slots', 'platform.config-type.slug'];
  const report = await runPlatformSuite(front.place, { only, patienceMs: 1500 });
  expect(resultsWith(report, 'fail').length).toBeGreaterThan(1);
  expect(leadsFirst(report.checks).map(({ actual }) => actual)).toEqual([
    expect.stringMatching(/^POST .*\/beta\/config_types: no answer within/),
  ]);
});
