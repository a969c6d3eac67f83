/** From options to a Platform API that can be checked: what it has is found out by reading it. */
import { HttpClient } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { UsageError } from '../common/usage.ts';
import type { Capability } from '../contract/capabilities.ts';
import {
  codenameOf,
  DIALECT_NAMES,
  NEWEST_VERSION,
  SUPPORTED_VERSIONS,
  type SupportedVersion,
} from '../contract/versions.ts';
import type { TargetDescription } from '../runner/types.ts';
import type { TargetFile } from './file-schema.ts';
import { FIRST_ANSWER_PATIENCES, whySilent } from './first-answer.ts';
import { concludeIdentity, identityOf } from './identity.ts';
import { startCommand } from './launch/command.ts';
import { startOnPort } from './launch/image.ts';
import { type Started, startOptions, tryStart } from './launch/started.ts';
import { type OpenPlatformTarget, opening } from './opened.ts';
import { declaredCapabilities, PATIENCE_MS, type PlatformTargetOptions } from './options.ts';
import { loadTargetFile } from './target-file.ts';
import { whyUnreachable } from './transports/transport.ts';
import { NOWHERE, readCa, url, webAddress, withSystemAuthorities } from './transports/url.ts';

const DEFAULT_PORT = 8080;
/** `{base_url}` contains this segment (specification section 9). */
const BASE_PATH = '/beta';

/**
 * Opens a Platform API: starts it when the options say how, connects, and finds out what it has. Throws UsageError for options that
 * name no target; any other trouble is in `unreachable` of the target.
 */
export async function openPlatformTarget(options: PlatformTargetOptions): Promise<OpenPlatformTarget> {
  const { redactor, patienceMs = PATIENCE_MS } = options;
  const settings = platformSettings(options);
  const { dialect, versionHeader, apiVersion, apiKey, limitedKey, readOnly, capabilities } = settings;
  return opening(async (closers, close): Promise<OpenPlatformTarget> => {
    const { started, problem: startProblem } = await tryStart(() => start(settings, options));
    closers.push(() => started?.close());
    const http = clientOf(settings, started, new Recorder(redactor));
    closers.push(() => http.close());
    const hint = `Try: curl -i -H "X-API-Key: $MUSTER_API_KEY" ${http.describe()}/devices`;
    const firstAnswerMs = options.firstAnswerMs ?? FIRST_ANSWER_PATIENCES * patienceMs;
    const problem =
      startProblem ?? (await whyUnreachable(http, hint)) ?? (await whySilent(http, ASKED_FIRST, firstAnswerMs, hint));
    const probed = http.with({ timeoutMs: patienceMs });
    const detected = problem === undefined ? await probePlatform(probed, versionHeader) : NOTHING_DETECTED;

    for (const version of detected.versions) capabilities.add(codenameOf(version));
    if (detected.seedData) capabilities.add('seed-data');
    const onlineDevice = settings.onlineDevice ?? detected.onlineDevice;
    const offlineDevice = settings.offlineDevice ?? detected.offlineDevice;
    if (onlineDevice !== undefined) capabilities.add('online-device');
    if (offlineDevice !== undefined) capabilities.add('offline-device');
    const api = { versionHeader, apiVersion, apiKey, limitedKey, capabilities, onlineDevice, offlineDevice, readOnly };
    const description: TargetDescription = redactor.value({
      kind:
        started?.kind ?? (settings.command !== undefined ? 'command' : settings.image === undefined ? 'url' : 'image'),
      address: started === undefined && settings.address === undefined ? startedBy(settings) : http.describe(),
      capabilities: [...capabilities],
      control: readOnly ? 'none (read-only)' : 'the API itself',
      api_version: apiVersion,
      dialect,
      ...identityOf(options, settings.file, started?.ran),
      ...(started === undefined ? {} : { ended: true }),
    });
    return {
      ...api,
      dialect,
      http,
      redactor,
      context: (recorder, signal) => ({
        ...api,
        http: http.with({ recorder, signal, timeoutMs: patienceMs }),
        patienceMs,
      }),
      description,
      conclude: () => concludeIdentity(description, started?.ran),
      unreachable: problem === undefined ? undefined : redactor.text(problem),
      diagnostics: async () => redactor.text((await started?.diagnostics()) ?? ''),
      close,
      [Symbol.asyncDispose]: close,
    };
  });
}

type PlatformSettings = ReturnType<typeof platformSettings>;

/** What names a platform that did not start, and so has never said where it serves. */
function startedBy({ command, image }: PlatformSettings): string {
  return command ?? (typeof image === 'string' ? image : image?.name) ?? 'nowhere';
}

/** What the options and the target file together say; options win. Throws UsageError. */
function platformSettings(options: PlatformTargetOptions) {
  const { redactor } = options;
  const env = options.env ?? process.env;
  const loaded = options.target === undefined ? undefined : loadTargetFile(options.target, env, redactor);
  const { file, folder }: { file: Partial<TargetFile>; folder?: string } = loaded ?? { file: {} };
  const platform = file.platform ?? {};
  const apiKey = options.apiKey ?? platform.api_key ?? env['MUSTER_API_KEY'];
  const limitedKey = options.limitedKey ?? platform.limited_key ?? env['MUSTER_LIMITED_KEY'];
  if (apiKey === undefined || apiKey === '') {
    throw new UsageError('--api-key: missing; give it, or set MUSTER_API_KEY');
  }
  redactor.add(apiKey, 'MUSTER_API_KEY');
  redactor.add(limitedKey, 'MUSTER_LIMITED_KEY');
  const dialect = options.dialect ?? platform.dialect ?? 'spec';
  const readOnly = options.readOnly === true || platform.read_only === true;
  const caFile = options.ca ?? platform.ca;
  const address = options.url ?? platform.url;
  const command = options.command ?? platform.command;
  const image = options.image ?? platform.image;
  if (address === undefined && command === undefined && image === undefined) {
    throw new UsageError('which platform? Give one of --url URL, --image IMAGE, --command LINE or --target FILE');
  }
  if (address !== undefined) webAddress('--url', address);
  return {
    ...{ file, apiKey, limitedKey, dialect, readOnly, caFile, address, command, image },
    ca: readCa(caFile),
    cwd: options.command === undefined ? (platform.cwd ?? folder) : undefined,
    ...DIALECT_NAMES[dialect],
    apiVersion: options.apiVersion ?? platform.api_version ?? NEWEST_VERSION,
    onlineDevice: options.onlineDevice ?? platform.online_device,
    offlineDevice: options.offlineDevice ?? platform.offline_device,
    startSeconds: platform.start_seconds,
    capabilities: capabilitiesBeforeProbing(options, file, { limitedKey, readOnly }),
  };
}

function capabilitiesBeforeProbing(
  options: PlatformTargetOptions,
  file: Partial<TargetFile>,
  { limitedKey, readOnly }: { limitedKey: string | undefined; readOnly: boolean },
): Set<Capability> {
  const capabilities = declaredCapabilities('platform', options, file);
  if (limitedKey !== undefined) capabilities.add('limited-key');
  if (readOnly) capabilities.delete('write');
  else capabilities.add('write').add('seed-data');
  return capabilities;
}

/** Starts the platform by its command or from its image; undefined when it is expected to run already. */
function start(settings: PlatformSettings, options: PlatformTargetOptions): Promise<Started> | undefined {
  const { command, image, address, cwd, startSeconds } = settings;
  const common = startOptions(options, startSeconds, [url]);
  if (command !== undefined) {
    const at = address === undefined ? undefined : { transport: url, address };
    return startCommand({ ...common, line: command, cwd, at });
  }
  if (image === undefined) return undefined;
  const named = typeof image === 'string' ? { name: image } : image;
  return startOnPort(common, named, options.port ?? named.port ?? DEFAULT_PORT);
}

function clientOf(settings: PlatformSettings, started: Started | undefined, recorder: Recorder): HttpClient {
  const { versionHeader, apiVersion, apiKey, ca, caFile } = settings;
  const { origin, pathname } = new URL(webAddress('--url', started?.at.address ?? settings.address ?? NOWHERE));
  return new HttpClient({
    endpoint: { origin, ...(ca === undefined ? {} : { ca: withSystemAuthorities(ca), caFile }) },
    basePath: pathname === '/' ? BASE_PATH : pathname,
    headers: { accept: 'application/json', 'x-api-key': apiKey, [versionHeader.toLowerCase()]: apiVersion },
    recorder,
  });
}

/** One of these is enough: a platform may hang on some requests only, and then checks find out on which. */
const ASKED_FIRST = ['/devices', '/config_types'].map((path) => ({ path, query: { limit: 1 } }));

/** What reading a platform shows. */
interface Detected {
  versions: SupportedVersion[];
  /** The platform holds enough items to page through. */
  seedData: boolean;
  onlineDevice: string | undefined;
  offlineDevice: string | undefined;
}

/** For a platform that does not answer. */
const NOTHING_DETECTED: Detected = {
  versions: [],
  seedData: false,
  onlineDevice: undefined,
  offlineDevice: undefined,
};

/** With fewer items than this every page is the last one. */
const ENOUGH = 3;

/** Only reads. Errors are not reported here: what cannot be detected is not declared, and the checks find out why. */
async function probePlatform(http: HttpClient, versionHeader: string): Promise<Detected> {
  const accepted = await Promise.all(
    SUPPORTED_VERSIONS.map(async (version) => {
      const { status } = await listDevices(http, { headers: { [versionHeader]: version }, limit: 1 });
      return status === 200 ? [version] : [];
    }),
  );
  const { items } = await listDevices(http, { limit: 100 });
  const withStatus = (status: string): string | undefined =>
    items.find((item) => item.status === status && typeof item.id === 'string')?.id as string | undefined;
  return {
    versions: accepted.flat(),
    seedData: items.length >= ENOUGH,
    onlineDevice: withStatus('online'),
    offlineDevice: withStatus('offline'),
  };
}

async function listDevices(
  http: HttpClient,
  options: { headers?: Record<string, string>; limit: number },
): Promise<{ status: number | undefined; items: { id?: unknown; status?: unknown }[] }> {
  try {
    const { headers = {}, limit } = options;
    const { status, json } = await http.get('/devices', { headers, query: { limit } });
    const data = (json as { data?: unknown } | undefined)?.data;
    return {
      status,
      items: Array.isArray(data) ? data.filter((item) => item !== null && typeof item === 'object') : [],
    };
  } catch {
    return { status: undefined, items: [] };
  }
}
