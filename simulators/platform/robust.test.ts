import { once } from 'node:events';
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { startPlatform } from './testing/kit.ts';

it('an unauthorized request is answered before its body is complete, and the server keeps serving', async () => {
  await using platform = await startPlatform();
  const call = request(`${platform.url}/devices`, { method: 'POST', headers: { 'content-length': 1_000_000 } });
  call.on('error', () => {}).write('{');
  const [{ statusCode }] = await once(call, 'response');
  expect(statusCode).toBe(401);
  expect((await platform.get('/devices')).status).toBe(200);
});

it.for([
  ['git@github.com:example/robots.git', 'github', 'https://github.com/example/robots'],
  ['https://gitlab.com/example/group/robots', 'gitlab', 'https://gitlab.com/example/group/robots'],
  ['ssh://git@bitbucket.org:22/example/robots.git', 'bitbucket', 'https://bitbucket.org/example/robots'],
] as const)('a git commit of %s gets the type and URL of its repository', async ([origin, type, url]) => {
  await using platform = await startPlatform();
  const body = { sha: 'ABCDEF1', message: '', origin };
  const made = await platform.create('/git_commits', body);
  expect(made).toMatchObject({ sha: 'abcdef1', repository_type: type, repository_url: url });
  expect((await platform.post('/git_commits', body)).status).toBe(409);
  const reference = { version: '1', config_schema_ids: [], git_commit_ref: { sha: 'abcdef1' } };
  const release = await platform.create('/releases', reference);
  expect(release['git_commit_id']).toBe(made.id);
});
