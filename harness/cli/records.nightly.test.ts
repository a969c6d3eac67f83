import { expect, it } from 'vitest';
import { NODE, startServer } from '../../fixtures/servers/languages.ts';
import { COLLECTIONS } from '../../suites/platform/support/lists.ts';
import { allOf, platformHttp } from './records.ts';
import { printed, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
/** Four, because the first run meets no record of Muster, and growth that grows shows from the second to the fourth. */
const RUNS = 4;

it('runs on one platform give one verdict, change no record of others, and leave as much each time', async () => {
  const command = `exec ${NODE.start('platform', at())} --key dev=devices:read --key poor= --devices 130`;
  await using platform = await startServer(command);
  const http = platformHttp({ url: platform.url, apiKey: 'dev', dialect: 'spec' });
  const recordsOf = (collection: string) => allOf(http, `/${collection}`).catch(() => []);
  const records = () => Promise.all(COLLECTIONS.map(recordsOf));
  const how = ['--fast', '--seed', '5', '--report', `json=${at('run.json')}`];
  const before = await records();
  const verdicts: object[] = [];
  const counts = [before.map(({ length }) => length)];
  for (let run = 0; run < RUNS; run += 1) {
    const words = typed`check platform --url ${platform.url} --api-key dev --limited-key poor ${how}`;
    const { code } = await printed(words);
    const outcomes = reportIn(at('run.json')).checks.map(({ id, outcome }) => `${id} ${outcome}`);
    verdicts.push({ code, outcomes });
    counts.push((await records()).map(({ length }) => length));
  }
  const after = new Map((await records()).flat().map((record) => [record['id'], record]));
  await http.close();
  expect(before.flat().map(({ id }) => after.get(id))).toEqual(before.flat());
  for (const verdict of verdicts) expect(verdict).toEqual({ ...verdicts[0], code: 0 });

  const grew = counts.slice(1).map((now, run) => now.map((count, kind) => count - (counts[run]?.[kind] ?? 0)));
  // A fifth more is no growth of growth, because what a run draws depends on what it meets.
  for (const [kind, made] of (grew.at(-1) ?? []).entries())
    expect(made).toBeLessThanOrEqual(1.2 * (grew[0]?.[kind] ?? 0));
  const { text: listed } = await printed(typed`check platform --dry-run --fast --seed 5`);
  const grown = COLLECTIONS.filter((_, kind) => grew.some((made) => (made[kind] ?? 0) > 0));
  expect(grown).toContain('deployments');
  for (const kind of grown) expect(listed).toMatch(new RegExp(`^ {2}${kind.replace('_', ' ')} +[1-9]`, 'm'));
  const { text: left } = await printed(typed`clean platform --url ${platform.url} --api-key dev --dry-run`);
  expect(left).toMatch(/^0 deployments are not archived yet/);
});
