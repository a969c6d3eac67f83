/** Rules for watched traffic, of the server and of its clients, and the options of `muster watch`. */
import { type Way, watchedRules } from '../../../suites/client/watched/index.ts';
import { suite } from '../../runner/define.ts';
import { inOrder, premisesOf } from '../../runner/plan.ts';
import type { Check, Suite } from '../../runner/types.ts';
import { commonOptions, deviceTargetOptions, platformTargetOptions } from '../check-options.ts';
import { consoleOptions, type OptionsOf, type OptionTable, optionsIn, pathOfSocket, wholePath } from '../options.ts';

export type { Way } from '../../../suites/client/watched/index.ts';

export const WATCHED_APIS = ['device', 'platform'] as const;
export type WatchedApi = (typeof WATCHED_APIS)[number];

const OR_ELSE = 'no traffic was seen that decides it, as `muster explain ID` states it';

export async function watchSuite(api: WatchedApi, way: Way): Promise<Suite<never>> {
  const { watchedRules: ofServer } =
    api === 'device'
      ? await import('../../../suites/device/watched.ts')
      : await import('../../../suites/platform/watched/index.ts');
  const ofTraffic = [...ofServer, ...watchedRules(api, way)] as readonly Check<never>[];
  return rulesOf(api, [...(await checksOf(api)), ...ofTraffic]);
}

/** Selects the rules for answers of the server, without the rules for clients. */
export async function serverRules(api: WatchedApi): Promise<Suite<never>> {
  return rulesOf(api, await checksOf(api));
}

async function checksOf(api: WatchedApi): Promise<readonly Check<never>[]> {
  const server =
    api === 'device'
      ? (await import('../../../suites/device/index.ts')).deviceSuite
      : (await import('../../../suites/platform/index.ts')).platformSuite;
  return server.checks as readonly Check<never>[];
}

function rulesOf(api: WatchedApi, all: readonly Check<never>[]): Suite<never> {
  const below = new Map<string, Set<Check<never>>>();
  for (const check of inOrder(all)) {
    const direct = premisesOf(check, all);
    below.set(check.id, new Set(direct.flatMap((premise) => [premise, ...(below.get(premise.id) ?? [])])));
  }
  const rules = all.filter(({ rule }) => rule !== undefined);
  // Removes required capabilities, because the traffic of any client may decide a rule.
  const judging = rules.map(({ needs: _, ...check }) => {
    // Replaces the checks that a rule presupposes by rules of the same requirements, because a watch runs no checks.
    const presupposed = new Set([...(below.get(check.id) ?? [])].map(({ requirement }) => requirement.id));
    presupposed.delete(check.requirement.id);
    const premises = rules.filter(({ requirement }) => presupposed.has(requirement.id)).map(({ id }) => id);
    return { ...check, premises, orElse: OR_ELSE };
  });
  return suite<never>(api, [judging]);
}

const WHERE = optionsIn('Where');
const RECORDING = optionsIn('Recording');
const HOW = optionsIn('How');
const CONSOLE = optionsIn('Console');

const { only, section, requirements, bail, report, verbose, baseline, 'fail-on': failOn } = commonOptions;

/** Excludes an option together with `--replay`, because a recording has no live traffic. */
const LIVE = { conflicts: 'replay' } as const;

const both = {
  'tls-cert': WHERE.text('Certificate (PEM): clients speak TLS, with --url', { path: wholePath, ...LIVE }),
  'tls-key': WHERE.text('Private key of it (PEM)', { path: wholePath, ...LIVE }),
  record: RECORDING.text('Write what is seen to this file, without secrets, as lines of JSON', {
    path: wholePath,
    ...LIVE,
  }),
  'record-size': RECORDING.text('Size at which the file is put aside as FILE.1; four of these are kept', {
    default: '100MB',
  }),
  replay: RECORDING.text('Judge a recording again, or the HAR of any tool, and connect to nothing', {
    path: wholePath,
  }),
  ui: { ...CONSOLE.flag('Serve a page of what is seen and found, on loopback; its address is printed as ui'), ...LIVE },
  'ui-port': { ...consoleOptions['ui-port'], ...LIVE },
  only,
  section,
  requirements,
  'max-time': HOW.text('End after this time, e.g. 30m', { defaultText: 'when it is told to', ...LIVE }),
  bail,
  'fail-on': failOn,
  baseline,
  report,
  verbose,
} as const satisfies OptionTable;

const { socket, discovery, url, ca } = deviceTargetOptions;

export const watchDeviceOptions = {
  socket: { ...socket, ...LIVE },
  discovery: { ...discovery, ...LIVE },
  url,
  ca: { ...ca, ...LIVE },
  listen: WHERE.text('Where clients come: a unix socket; with --discovery the file that they read; with --url a port', {
    path: pathOfSocket,
    ...LIVE,
  }),
  ...both,
} as const satisfies OptionTable;

export const watchPlatformOptions = {
  url: platformTargetOptions.url,
  ca: { ...platformTargetOptions.ca, ...LIVE },
  listen: WHERE.text('Port where clients come, 0 for a free one, or HOST:PORT; loopback unless a host is named', LIVE),
  ...both,
} as const satisfies OptionTable;

export type WatchArguments = OptionsOf<typeof both> & Partial<OptionsOf<typeof watchDeviceOptions>>;
