import process from 'node:process';
import { NoAnswer, Unfinished, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { defined } from '../../common/defined.ts';
import { isOwnName } from '../../common/names.ts';
import { Redactor } from '../../common/redact.ts';
import { printableLine } from '../../common/terminal.ts';
import { EXIT, headerSecret, UsageError } from '../../common/usage.ts';
import { DIALECTS, SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { command, OPTION, urlFrom, WEB } from '../options.ts';
import { allOf, describeAnswer, NoListError, platformHttp } from '../records.ts';

export const cleanPlatform = command({
  options: {
    url: OPTION.text('Base URL of the Platform API'),
    'api-key': OPTION.text('API key; better in MUSTER_API_KEY', { secret: 'MUSTER_API_KEY' }),
    dialect: OPTION.oneOf(DIALECTS, 'Header names', { default: 'spec' }),
    'api-version': OPTION.oneOf(SUPPORTED_VERSIONS, 'API version to use', { defaultText: 'the newest' }),
    'dry-run': OPTION.flag('Only say what would be archived, and what stays'),
  },
  examples: [
    ['muster clean platform --url https://api.example.com/beta --dry-run', 'what earlier runs left'],
    ['MUSTER_API_KEY=… muster clean platform --url https://api.example.com/beta', 'archive it'],
  ],
  epilogue:
    'Earlier runs are known by the names of their devices, such as muster-device-1e1bbca6. A deployment on any other ' +
    'device is left alone. A check that runs meanwhile has such devices too: let it end first.\n\n' +
    'Exit codes: 0 all that the platform lets a client archive is archived · 2 it answered an error, or not at all.',
  async run({ url, 'api-key': given, dialect, 'api-version': version, 'dry-run': isDry }) {
    if (url === undefined) throw new UsageError('--url: missing');
    const { href } = urlFrom('url', url, WEB);
    const key = given ?? process.env['MUSTER_API_KEY'];
    if (key === undefined || key === '') throw new UsageError('--api-key: missing; here or in MUSTER_API_KEY');
    const apiKey = headerSecret('--api-key', key);
    const recorder = new Recorder(new Redactor([key]));
    const http = platformHttp({ url: href, apiKey, dialect, recorder, ...defined({ version }) });
    try {
      return await clean(http, isDry);
    } catch (error) {
      const isSilent = error instanceof NoAnswer || error instanceof Unfinished || error instanceof Unreachable;
      if (!(isSilent || error instanceof NoListError)) throw error;
      process.stderr.write(`muster: ${printableLine((error as Error).message)}\n`);
      return EXIT.incomplete;
    } finally {
      await http.close();
    }
  },
});

async function clean(http: HttpClient, isDry: boolean): Promise<number> {
  const devices = (await allOf(http, '/devices')).filter(({ name }) => isOwnName(String(name)));
  const own = new Set(devices.map(({ id }) => id));
  const open = (await allOf(http, '/deployments')).filter(
    ({ device_id, target_status }) => own.has(device_id) && target_status !== 'archived',
  );
  const outcomes = { archived: 0, stay: 0, failed: 0 };
  for (const { id } of isDry ? [] : open) {
    const response = await http.post(`/deployments/${encodeURIComponent(String(id))}/archive`, {});
    // Status 409: the platform cannot archive the deployment in its present state.
    const outcome = response.status < 300 ? 'archived' : response.status === 409 ? 'stay' : 'failed';
    outcomes[outcome] += 1;
    if (outcome !== 'archived')
      process.stderr.write(
        `muster: ${printableLine(`deployment ${id} was not archived: ${describeAnswer(http, response)}`)}\n`,
      );
  }
  const { archived, stay, failed } = outcomes;
  const kept = await Promise.all(
    ['groups', 'config_types'].map(async (collection) => {
      const items = await allOf(http, `/${collection}`).catch((error: unknown) => {
        if (error instanceof NoListError) return [];
        throw error;
      });
      const named = items.filter((item) => ['name', 'slug'].some((field) => isOwnName(String(item[field]))));
      return `${named.length} ${collection}`;
    }),
  );
  const left = stay + failed === 0 ? '' : `; ${stay + failed} could not be`;
  const done = isDry
    ? `${open.length} deployments are not archived yet`
    : `${archived} of ${open.length} deployments archived${left}`;
  const stays = [`${devices.length} devices`, ...kept].join(', ').replaceAll('_', ' ');
  process.stdout.write(
    `${done}.\nThe API removes nothing, so these stay, with muster in their names: ${stays}.\n` +
      'Releases stay too; their versions do not tell who made them.\n',
  );
  return failed === 0 ? EXIT.conformant : EXIT.incomplete;
}
