/** Runs `muster watch`: relays live traffic until a signal, or judges a recording. */
import { existsSync, realpathSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import process from 'node:process';
import { defined } from '../../common/defined.ts';
import { TrafficRedactor } from '../../common/traffic-redactor.ts';
import { durationMs, size } from '../../common/units.ts';
import { Interrupted, quote, UsageError, usage } from '../../common/usage.ts';
import { prepareFile } from '../../common/user-files.ts';
import { pollWithin } from '../../common/waiting.ts';
import { createReporters } from '../../reports/create.ts';
import { claimPlace, type Places } from '../../reports/format.ts';
import { makePlan, type Plan } from '../../runner/plan.ts';
import { CAPABILITIES } from '../../runner/types.ts';
import { deviceBasePath, webAddress } from '../../targets/transports/index.ts';
import { JudgeLink } from '../../watch/judge-link.ts';
import { type PlainJudged, TrafficJudge } from '../../watch/judging.ts';
import { expectFiles, type RecordingHead } from '../../watch/recording.ts';
import { Relay } from '../../watch/relay.ts';
import { recordingHead, replayTraffic } from '../../watch/replaying.ts';
import type { ServerAddress } from '../../watch/traffic.ts';
import { failOn, prepareEvidence } from '../check-run.ts';
import { pairFrom, uiPortOf } from '../options.ts';
import { interruptSignal, outputsMayFail, takeFaults } from '../process-end.ts';
import { VERSION } from '../version.ts';
import type { WatchArguments } from './options.ts';
import type { WatchPage } from './page.ts';
import { listenProblem, type RelayRoute, relayRouteOf } from './relay-route.ts';
import {
  type Conclusion,
  exitCodeAfter,
  FindingReporter,
  outageReporter,
  writeReports,
  writeToStderr,
} from './reporting.ts';
import { checksOf, type TransportKind, type WatchedApi, watchSuite } from './suite.ts';
import type { ThreadData } from './thread.ts';

export async function watchTraffic(api: WatchedApi, args: WatchArguments): Promise<number> {
  if (args.replay !== undefined) return await judgeAgain(api, args, args.replay);
  const route = await relayRouteOf(api, args);
  const { suite, plan, conclusion, reporter } = await prepareWatch(api, route.way, args);
  const { 'max-time': maxTime } = args;
  const lasts = maxTime === undefined ? Number.POSITIVE_INFINITY : usage('--max-time', () => durationMs(maxTime));
  const record = recordOf(api, route, args);
  const secure = pairFrom('tls', args['tls-cert'], args['tls-key']);
  await using shown = await pageOf(api, route, plan, args);
  const { announce, troubles, trouble } = outputsOf(shown?.page);
  const outages = outageReporter({ announce, trouble, changed: (why) => shown?.page.unreachable(why) });
  const found = new Map<string, PlainJudged>();
  const enough = new AbortController();
  // Milliseconds within which several signals count as one, because a service manager may send two.
  using interrupt = interruptSignal(1000);
  using _outputs = outputsMayFail();
  await using link = new JudgeLink({
    entry: new URL(`./thread${extname(import.meta.url)}`, import.meta.url),
    data: {
      api,
      way: route.way,
      place: route.server,
      ...defined({ record, shown: shown && plan.checks.map(({ check }) => check.id) }),
    } satisfies ThreadData,
    found(id, judged) {
      found.set(id, judged);
      reporter.report(id, judged);
      shown?.page.findings(reporter.leads);
      if (reporter.failures >= (args.bail ?? Number.POSITIVE_INFINITY)) enough.abort();
    },
    live: (live) => shown?.page.live(live),
    trouble,
    ended: (why) => shown?.page.ended(why),
  });
  using _faults = faultsEndJudging(link);
  const { listen, upstream } = route;
  await using relay = await Relay.open({ listen, upstream, ...defined({ tls: secure }), tap: link, outages }).catch(
    (error: unknown) => {
      throw listenProblem(error, args.listen);
    },
  );
  try {
    const published = route.publish(relay.port);
    shown?.page.follow(String(published['url'] ?? published['discovery'] ?? published['socket']), relay, link);
    process.stdout.write(`${JSON.stringify({ ready: true, ...published, ...defined({ ui: shown?.ui }) })}\n`);
    const signal = AbortSignal.any([interrupt.signal, enough.signal]);
    // Only a signal or the timeout ends this poll, so its first pause is 12 days.
    const waiting = { timeoutMs: lasts, firstPauseMs: 2 ** 30, signal };
    await pollWithin('the end of the watch', () => undefined, waiting).catch(() => {});
    // Ends judging before the relay closes connections, which would look like a fault of client or server.
    const concluded = await link.conclude();
    const code = await writeReports({
      ...conclusion,
      suite,
      plan,
      concluded,
      found,
      troubles,
      target: { kind: route.way, address: route.address, capabilities: [], control: 'none' },
      replay: record && replayCommand(api, record.path),
    });
    const { reason } = interrupt.signal;
    return exitCodeAfter(code, reason instanceof Interrupted ? reason.by : undefined);
  } finally {
    route.close();
  }
}

function outputsOf(page: WatchPage | undefined) {
  const troubles: string[] = [];
  const announce = (text: string): void => {
    writeToStderr(text);
    page?.note(text);
  };
  const trouble = (why: string): void => {
    troubles.push(why);
    announce(why);
  };
  return { announce, troubles, trouble };
}

async function pageOf(api: WatchedApi, { address }: RelayRoute, plan: Plan<never>, args: WatchArguments) {
  const port = uiPortOf(args);
  if (port === undefined) return undefined;
  const { WatchPage } = await import('./page.ts');
  const rules = { decided: 0, all: plan.checks.length };
  const page = new WatchPage({ api, server: address, began: Date.now(), rules });
  const ui = await page.serve(port);
  return { page, ui, [Symbol.asyncDispose]: () => page[Symbol.asyncDispose]() };
}

function faultsEndJudging(link: JudgeLink): Disposable {
  const take = (error: unknown): void => {
    taking = takeFaults(take);
    link.fail(error);
  };
  let taking = takeFaults(take);
  return { [Symbol.dispose]: () => taking[Symbol.dispose]() };
}

async function prepareWatch(api: WatchedApi, way: TransportKind, args: WatchArguments) {
  const suite = await watchSuite(api, way);
  const plan: Plan<never> = makePlan(suite, {
    capabilities: new Set(CAPABILITIES),
    only: args.only ?? [],
    sections: args.section ?? [],
    failOn: failOn(args['fail-on']),
    ...defined({ requirements: args.requirements }),
  });
  const redactor = new TrafficRedactor();
  const { stdout, stderr, env } = process;
  const specs = args.report ?? [];
  const taken = specs.find((spec) => !spec.includes('=') && !['pretty', 'github'].includes(spec));
  if (taken !== undefined && args.replay === undefined)
    throw new UsageError(`--report ${taken}: standard output has the ready line; give it a file: ${taken}=FILE`);
  const places: Places = new Map();
  const reporters = createReporters(specs, { redactor, stdout, stderr, env, verbose: args.verbose }, places);
  for (const name of ['record', 'replay'] as const)
    if (args[name] !== undefined) claimPlace(places, `--${name} ${args[name]}`, resolve(args[name]));
  const noEvidence = { 'update-baseline': false, fast: false, 'last-failed': false };
  const evidence = { ...noEvidence, ...defined({ baseline: args.baseline }) };
  // Includes all checks, because a baseline of `muster check` may name checks that are no rules.
  const all = { ...suite, checks: [...suite.checks, ...(await checksOf(api))] };
  const { settle, excuses } = prepareEvidence(evidence, all, places);
  const reporter = new FindingReporter({ suite, checks: plan.checks, verbose: args.verbose, stderr, env, excuses });
  const conclusion = { reporters, redactor, settle, began: Date.now() };
  return { suite, plan, conclusion, reporter } satisfies { conclusion: Partial<Conclusion> } & Record<string, unknown>;
}

function recordOf(api: WatchedApi, { way, server, address }: RelayRoute, args: WatchArguments): ThreadData['record'] {
  if (args.record === undefined) return undefined;
  const limit = size(args['record-size']);
  if (limit === undefined || limit < 10_000)
    throw new UsageError(`--record-size ${args['record-size']}: must be a size of 10kB or more, e.g. 100MB`);
  const option = `--record ${args.record}`;
  if (args.record.endsWith('.har')) throw new UsageError(`${option}: is written as lines of JSON; name it .jsonl`);
  const named = prepareFile(option, args.record);
  // Follows a symbolic link, because the recording must not replace the link.
  const path = existsSync(named) ? realpathSync(named) : named;
  usage(option, () => expectFiles(path));
  const started_at = new Date().toISOString();
  return { path, limit, head: { muster_watch: 1, muster: VERSION, api, way, base: server.base, address, started_at } };
}

async function judgeAgain(api: WatchedApi, args: WatchArguments, file: string): Promise<number> {
  const path = resolve(file);
  const head = await recordingHead(path);
  if (head !== undefined && head.api !== api)
    throw new UsageError(`--replay ${file}: is a recording of a ${head.api}; use muster watch ${head.api}`);
  const server = args.url === undefined ? undefined : new URL(webAddress('--url', args.url));
  // HAR does not name the transport, so its traffic counts as traffic over a URL.
  const way: TransportKind = head?.way === 'unix' || head?.way === 'loopback' ? head.way : 'url';
  const { suite, plan, conclusion, reporter } = await prepareWatch(api, way, args);
  const found = new Map<string, PlainJudged>();
  const base = head?.base ?? server?.pathname.replace(/\/$/, '') ?? '';
  const judge = new TrafficJudge({
    checks: suite.checks,
    place: {
      base: api === 'device' ? deviceBasePath(base) : base,
      isAnywhere: base === '',
      ...serverOf(head),
      variable: api === 'device' ? 'MUSTER_TOKEN' : 'MUSTER_API_KEY',
    },
    found(id, judged) {
      found.set(id, judged);
      reporter.report(id, judged);
    },
  });
  const { lacks } = await replayTraffic(path, head, (traffic) => judge.take(traffic), server?.origin);
  return await writeReports({
    ...conclusion,
    suite,
    plan,
    found,
    troubles: lacks,
    concluded: { judged: judge.judged(), seen: judge.seen },
    target: { kind: 'recording', address: head?.address ?? path, capabilities: [], control: 'none' },
    replay: replayCommand(api, path, args.url),
  });
}

function serverOf({ way, address = '' }: Partial<RecordingHead> = {}): Pick<ServerAddress, 'origin' | 'socketPath'> {
  const origin = 'http://localhost';
  if (way === 'unix') return { origin, socketPath: address.replace('unix:', '') };
  return { origin: URL.parse(address.split(' ', 1)[0] ?? '')?.origin ?? origin };
}

const replayCommand = (api: WatchedApi, path: string, url?: string): string =>
  ['muster watch', api, '--replay', quote(path), ...(url === undefined ? [] : ['--url', quote(url)])].join(' ');
