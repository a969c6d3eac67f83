import { HttpClient, type HttpResponse } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { wrongBaseUrl } from '../common/usage.ts';
import { codenameOf, SUPPORTED_VERSIONS } from '../contract/versions.ts';
import { Gate, throttled, throttledPauseMs } from '../runner/session.ts';
import { PATIENCE_MS, type PlatformTargetOptions } from './fields.ts';
import type { Started } from './launch/started.ts';
import { described, type OpenPlatformTarget, opening, tryStart, whySilent, writing } from './opened.ts';
import { type PlatformSettings, platformSettings } from './settings.ts';
import { TargetLife } from './target-life.ts';
import { NOWHERE, webAddress, webEndpoint } from './transports/index.ts';

/** Throws UsageError for invalid options or an invalid target file; reports failures of the target in `unreachable`. */
export async function openPlatformTarget(options: PlatformTargetOptions): Promise<OpenPlatformTarget> {
  const { redactor, patienceMs = PATIENCE_MS } = options;
  const settings = platformSettings(options);
  const { dialect, versionHeader, apiVersion, apiKey, limitedKey, readOnly, capabilities } = settings;
  return opening(async (closers) => {
    const { started, problem: startProblem } = await tryStart(settings);
    closers.push(() => started?.close());
    const http = clientOf(settings, started, options);
    closers.push(() => http.close());
    const hint = `Try: curl -i -H "X-API-Key: $MUSTER_API_KEY" ${http.describe()}/devices`;
    const problem = startProblem ?? (await whySilent(http, ASKED_FIRST, hint, options));
    const probed = http.with({ timeoutMs: patienceMs, ...defined({ signal: options.signal }) });
    const detected = problem === undefined ? await probePlatform(probed, versionHeader) : undefined;

    if (detected?.isElsewhere) {
      const asked = `${http.describe()}/devices was answered 404 in every version`;
      settings.startOptions.notify(`${asked}: ${wrongBaseUrl('--url')}`);
    }
    for (const version of detected?.versions ?? []) capabilities.add(codenameOf(version));
    if (detected?.seedData) capabilities.add('seed-data');
    const onlineDevice = settings.onlineDevice ?? detected?.onlineDevice;
    const offlineDevice = settings.offlineDevice ?? detected?.offlineDevice;
    if (onlineDevice !== undefined) capabilities.add('online-device');
    if (offlineDevice !== undefined) capabilities.add('offline-device');
    const api = { versionHeader, apiVersion, apiKey, limitedKey, capabilities, onlineDevice, offlineDevice, readOnly };
    const life = new TargetLife({
      ask: (signal, question) => question(http.with({ recorder: new Recorder(redactor), signal })),
      endedByItself: started?.restart?.endedByItself,
      start: started?.restart?.start,
      patienceMs,
    });
    const control = readOnly ? 'none (read-only)' : 'the API itself';
    const said = described(
      { settings, options, started, place: { kind: 'url', address: http.describe() }, problem },
      { capabilities: [...capabilities], control, api_version: apiVersion, dialect },
    );
    return {
      ...api,
      ...said,
      dialect,
      http,
      context: (recorder, signal) => ({
        ...api,
        http: http.with({ recorder, signal, timeoutMs: patienceMs }),
        patienceMs,
        ...life.hooks(recorder, signal),
        ...writing(started, recorder),
      }),
    };
  });
}

function clientOf(settings: PlatformSettings, started: Started | undefined, options: PlatformTargetOptions) {
  const { versionHeader, apiVersion, apiKey, readOnly } = settings;
  const { origin, pathname } = new URL(webAddress('--url', (started?.at ?? settings.at)?.address ?? NOWHERE));
  return new HttpClient({
    endpoint: webEndpoint(origin, settings),
    // Base path of the Platform API (section 9 of the specification).
    basePath: pathname === '/' ? '/beta' : pathname,
    headers: {
      accept: 'application/json',
      'x-api-key': apiKey,
      [versionHeader.toLowerCase()]: apiVersion,
      ...defined({ 'user-agent': options.userAgent }),
    },
    recorder: new Recorder(options.redactor),
    readOnly,
  });
}

/** Requests sent together; a single answer proves that the platform is reachable. */
const ASKED_FIRST = ['/devices', '/config_types'].map((path) => ({ path, query: { limit: 1 } }));

async function probePlatform(http: HttpClient, versionHeader: string) {
  const gate = new Gate();
  const answers = await Promise.all(
    SUPPORTED_VERSIONS.map((version) => listDevices(http, gate, 1, { [versionHeader]: version })),
  );
  const { items } = await listDevices(http, gate, 100);
  const withStatus = (status: string): string | undefined =>
    items.find((item) => item.status === status && typeof item.id === 'string')?.id as string | undefined;
  // Keeps a version with a server error, so that checks report it; a refused version need not be supported.
  const isServed = (status = 404): boolean => status === 200 || (status >= 500 && status !== 501);
  return {
    versions: SUPPORTED_VERSIONS.filter((_, at) => isServed(answers[at]?.status)),
    isElsewhere: answers.every(({ status }) => status === 404),
    seedData: items.length >= 3,
    onlineDevice: withStatus('online'),
    offlineDevice: withStatus('offline'),
  };
}

async function listDevices(http: HttpClient, gate: Gate, limit: number, headers: Record<string, string> = {}) {
  let items: { id?: unknown; status?: unknown }[] = [];
  try {
    const isDueAgain = throttled<HttpResponse>({
      gate,
      signal: http.signal,
      isThrottled: (answer) => answer.status === 429 || answer.status === 503,
      pauseMs: (answer, attempt) => (gate.isUsedUp ? undefined : throttledPauseMs(answer, attempt, PATIENCE_MS)),
    });
    await gate.pass(http.signal);
    let answer: HttpResponse;
    do answer = await http.get('/devices', { headers, query: { limit } });
    while (await isDueAgain(answer));
    const { status, json } = answer;
    const { data } = Object(json) as { data?: unknown };
    if (Array.isArray(data)) items = data.filter((item) => item !== null && typeof item === 'object');
    return { status, items };
  } catch {
    return { status: undefined, items };
  }
}
