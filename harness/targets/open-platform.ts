/** From options to a Platform API that can be checked. */

import { HttpClient } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { UsageError } from '../common/usage-error.ts';
import { codenameOf, DIALECT_NAMES, NEWEST_VERSION } from '../contract/versions.ts';
import type { Capability, TargetDescription } from '../runner/types.ts';
import { declared } from './capability.ts';
import { startCommand } from './launch/command.ts';
import { digestOf } from './launch/digest.ts';
import { onPort } from './launch/image.ts';
import type { Started } from './launch/started.ts';
import { type OpenPlatformTarget, opening } from './opened.ts';
import { PATIENCE_MS, type PlatformTargetOptions } from './options.ts';
import { probePlatform } from './probe-platform.ts';
import { loadTargetFile } from './target-file.ts';
import { whyUnreachable } from './transports/reach.ts';
import { readCa, trusted, webAddress } from './transports/transport.ts';

const START_MS = 60_000;
const DEFAULT_PORT = 8080;
/** `{base_url}` contains this segment (specification section 9). */
const BASE_PATH = '/beta';

/** Throws UsageError for options that make no target; everything else that goes wrong is told in `unreachable`. */
export async function openPlatformTarget(options: PlatformTargetOptions): Promise<OpenPlatformTarget> {
  const { redactor } = options;
  const env = options.env ?? process.env;
  const loaded = options.target === undefined ? undefined : loadTargetFile(options.target, env, redactor);
  const file = loaded?.file.platform ?? {};
  const apiKey = options.apiKey ?? file.api_key ?? env['MUSTER_API_KEY'];
  const limitedKey = options.limitedKey ?? file.limited_key ?? env['MUSTER_LIMITED_KEY'];
  if (apiKey === undefined || apiKey === '') {
    throw new UsageError('--api-key: missing; give it, or set MUSTER_API_KEY');
  }
  redactor.add(apiKey, 'MUSTER_API_KEY');
  redactor.add(limitedKey, 'MUSTER_LIMITED_KEY');
  const dialect = options.dialect ?? file.dialect ?? 'spec';
  const apiVersion = options.apiVersion ?? file.api_version ?? NEWEST_VERSION;
  const readOnly = options.readOnly === true || file.read_only === true;
  const caFile = options.ca ?? file.ca;
  const ca = readCa(caFile);
  const { versionHeader } = DIALECT_NAMES[dialect];
  const command = options.command ?? file.command;
  const image = options.image ?? file.image;
  const given = options.url ?? file.url;
  if (given === undefined && command === undefined && image === undefined) {
    throw new UsageError('which platform? Give one of --url URL, --image IMAGE, --command LINE or --target FILE');
  }
  if (given !== undefined) webAddress('--url', given);

  const common = {
    env,
    timeoutMs: options.startMs ?? (file.start_seconds === undefined ? START_MS : file.start_seconds * 1000),
    notify: options.notify ?? (() => {}),
    signal: options.signal,
  };
  return opening(async (closers, close): Promise<OpenPlatformTarget> => {
    let started: Started | undefined;
    let trouble: string | undefined;
    try {
      if (command !== undefined) {
        const cwd = options.command === undefined ? (file.cwd ?? loaded?.folder) : undefined;
        const address = given === undefined ? {} : { url: given };
        started = await startCommand({ ...common, line: command, cwd, address });
      } else if (image !== undefined) {
        const { name, port, args, env: variables, user } = typeof image === 'string' ? { name: image } : image;
        started = await onPort({
          ...common,
          image: name,
          port: options.port ?? port ?? DEFAULT_PORT,
          args,
          user,
          env: variables,
        });
      }
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StartFailed') throw error;
      trouble = error.message;
    }
    closers.push(() => started?.close());
    const address = webAddress('--url', started?.address.url ?? given ?? 'http://127.0.0.1:1');
    const url = new URL(address);
    const basePath = url.pathname === '/' ? BASE_PATH : url.pathname;
    const http = new HttpClient({
      endpoint: { origin: url.origin, ...(ca === undefined ? {} : { ca: trusted(ca), caFile }) },
      basePath,
      headers: { accept: 'application/json', 'x-api-key': apiKey, [versionHeader.toLowerCase()]: apiVersion },
      recorder: new Recorder(redactor),
    });
    closers.push(() => http.close());
    trouble ??= await whyUnreachable(
      http,
      `Try: curl -i -H "X-API-Key: $MUSTER_API_KEY" ${url.origin}${basePath}/devices`,
    );

    const capabilities = new Set<Capability>(declared(options.capability, 'platform'));
    for (const name of loaded?.file.capabilities ?? []) capabilities.add(name as Capability);
    if (limitedKey !== undefined) capabilities.add('limited-key');
    if (readOnly) capabilities.delete('write');
    else capabilities.add('write').add('seed-data');
    const seen =
      trouble === undefined
        ? await probePlatform(http, { versionHeader, readOnly })
        : { versions: [], seedData: false, onlineDevice: undefined, offlineDevice: undefined };
    for (const version of seen.versions) capabilities.add(codenameOf(version));
    if (seen.seedData) capabilities.add('seed-data');
    const onlineDevice = options.onlineDevice ?? file.online_device ?? seen.onlineDevice;
    const offlineDevice = options.offlineDevice ?? file.offline_device ?? seen.offlineDevice;
    if (onlineDevice !== undefined) capabilities.add('online-device');
    if (offlineDevice !== undefined) capabilities.add('offline-device');

    const name = options.name ?? loaded?.file.name;
    const version = options.version ?? loaded?.file.version;
    const digest = started?.digest ?? digestOf(options.artifact ?? loaded?.file.artifact);
    const description: TargetDescription = {
      kind: started?.kind ?? 'url',
      address: url.origin + basePath,
      capabilities: [...capabilities],
      control: readOnly ? 'none (read-only)' : 'the API itself',
      api_version: apiVersion,
      dialect,
      ...(name === undefined ? {} : { name }),
      ...(version === undefined ? {} : { version }),
      ...(digest === undefined ? {} : { digest }),
    };
    const api = { versionHeader, apiVersion, apiKey, limitedKey, capabilities, onlineDevice, offlineDevice, readOnly };
    const { patienceMs = PATIENCE_MS } = options;
    return {
      http,
      redactor,
      context: (recorder, signal) => ({
        ...api,
        http: http.with({ recorder, signal, timeoutMs: patienceMs }),
        patienceMs,
      }),
      dialect,
      ...api,
      description: redactor.value(description),
      unreachable: trouble === undefined ? undefined : redactor.text(trouble),
      diagnostics: () => redactor.text(started?.diagnostics() ?? ''),
      close,
      [Symbol.asyncDispose]: close,
    };
  });
}
