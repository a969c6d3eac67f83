import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { Blocked } from '../../../harness/runner/violation.ts';
import { platformThat } from '../../platform/testing/platform.ts';
import { archiveMade, CheckState, createReleaseFixture, type ReleaseFixture, tryDeployment } from './roll-out.ts';

async function deployed(answer: RequestListener) {
  const over = new AbortController();
  const { t, asked } = await platformThat(answer, over);
  const state = new CheckState();
  const fixture = { release: { id: 'rls_1' }, files: [{ instance: { id: 'cfi_1' } }] } as unknown as ReleaseFixture;
  await tryDeployment(t, state, fixture, 'dvc_1');
  return { t, state, end: () => over.abort(new Blocked('over')), asked };
}

it('the clean-up archives deployments once, even after the check is over', async () => {
  const { t, state, end, asked } = await deployed((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'deployment', id: 'dpl_1' }));
  });
  end();
  await archiveMade(t, state);
  await archiveMade(t, state);
  expect(asked).toEqual(['POST /deployments', 'POST /deployments/dpl_1/archive']);
});

it('the clean-up does not wait for a silent platform', async () => {
  let isSilent = false;
  const { t, state, end } = await deployed((_, response) => {
    if (!isSilent) response.end('{"id":"dpl_1"}');
  });
  isSilent = true;
  end();
  await expect(archiveMade(t, state)).resolves.toBeUndefined();
});

it.each([
  [2, ['/a.json', '/b.json']],
  [1, ['/b.json']],
])('a platform whose releases hold %i schemas gets the files %j', async (most, filepaths) => {
  const { t, asked } = await platformThat(async (request, response) => {
    const { config_schema_ids: ids = [] } = JSON.parse((await text(request)) || '{}') as {
      config_schema_ids?: string[];
    };
    response.writeHead(ids.length > most ? 422 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: `x_${asked.length}` }));
  });
  const { files } = await createReleaseFixture(t, ['/a.json', '/b.json']);
  expect(files.map(({ filepath }) => filepath)).toEqual(filepaths);
});
