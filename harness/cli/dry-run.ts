/** Counts the records that `check platform` would create, by a run on Muster's own platform. */
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import type { HttpClient } from '../client/http.ts';
import { ownedFolder } from '../common/owner.ts';
import { EXIT } from '../common/usage.ts';
import type { Dialect } from '../contract/versions.ts';
import { allOf, platformHttp } from './records.ts';

const COLLECTIONS = 'devices groups config_types config_schemas config_instances releases deployments'.split(' ');

export async function dryRun(
  wanted: { url: string | undefined; seed: number | undefined; dialect: Dialect | undefined },
  run: (change: { url: string; 'api-key': string; seed: number; report: string[] }) => Promise<number>,
): Promise<number> {
  const { seed = randomInt(2 ** 31), dialect = 'spec', url = 'the platform' } = wanted;
  await using platform = await simulatePlatform({ dialect, devices: 3, seed: 1 });
  const http = platformHttp({ url: platform.url, apiKey: platform.apiKey, dialect });
  const folder = ownedFolder('dry-run');
  try {
    const before = await countsOf(http);
    process.stderr.write("trying it on Muster's own platform; nothing is sent anywhere else\n");
    const report = [`json=${join(folder, 'report.json')}`];
    const code = await run({ url: platform.url, 'api-key': platform.apiKey, seed, report });
    if (code > EXIT.incomplete) return code;
    const after = await countsOf(http);
    const made = COLLECTIONS.map(
      (name) => `  ${name.replace('_', ' ').padEnd(18)}${(after[name] ?? 0) - (before[name] ?? 0)}`,
    );
    process.stdout.write(
      `With --seed ${seed} a run would make on ${url}, if that takes everything as Muster's own platform does:\n` +
        `${made.join('\n')}\n` +
        'Its deployments are archived at the end, where the platform lets them. The API removes nothing, so the\n' +
        'records stay, most with muster in their names; none that exists is changed. What a run that is killed\n' +
        'leaves is archived by muster clean platform.\n',
    );
    return EXIT.conformant;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await http.close();
  }
}

async function countsOf(http: HttpClient): Promise<Record<string, number>> {
  const counts = COLLECTIONS.map(async (name) => [name, (await allOf(http, `/${name}`)).length] as const);
  return Object.fromEntries(await Promise.all(counts));
}
