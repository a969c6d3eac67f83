import { unlessAborted } from '../../client/http.ts';
import { defined } from '../../common/defined.ts';
import { jsonOf } from '../../common/lenient.ts';
import { readableDuration } from '../../common/units.ts';
import { UsageError } from '../../common/usage.ts';
import {
  CLIENT_JOBS,
  CLIENT_PLACES,
  CLIENT_VARIABLES,
  type ClientDescription,
  clientDescription,
  DEVICE_JOBS,
} from '../../contract/client.ts';
import { NAMES_BY_DIALECT } from '../../contract/versions.ts';
import type { Capability, TargetDescription } from '../../runner/types.ts';
import { type ClientTargetOptions, PATIENCE_MS } from '../fields.ts';
import { concludeIdentity, identityOf, measureExecutable } from '../identity.ts';
import { labelOf } from '../launch/process.ts';
import { type MeasuredImplementation, StartFailed } from '../launch/started.ts';
import { type ClientContext, type OpenedTarget, opening, type RunningClient, type StartClient } from '../opened.ts';
import { declaredCapabilities } from '../settings.ts';
import { findClientImage, startClientProcess, startsOfOneCheck } from './client-run.ts';

interface Way {
  kind: 'command' | 'image';
  label: string;
  address: string;
  ran: MeasuredImplementation | undefined;
  start: StartClient;
  problem?: string;
}

/** Throws UsageError for invalid options; reports failures of the client in `unreachable`. */
export async function openClientTarget(options: ClientTargetOptions): Promise<OpenedTarget<ClientContext>> {
  // A client gets 60 s to describe itself, because interpreters start slowly on a busy machine.
  const { redactor, patienceMs = PATIENCE_MS, startMs = 60_000, notify = () => {}, signal } = options;
  const { versionHeader } = NAMES_BY_DIALECT[options.dialect ?? 'spec'];
  if (!options.command?.trim() && !options.image?.trim())
    throw new UsageError(
      "which client? Give --command LINE, the shell line that starts it, e.g. './my-client'; or --image IMAGE",
    );
  const capabilities = declaredCapabilities('client', options, {});
  const way = await wayOf(options);
  return opening(async (closers) => {
    const { start, running, last } = counted(way.start);
    closers.push(async () => void (await Promise.all([...running].map((run) => run.stop()))));
    const jobs = CLIENT_JOBS.filter((job) => capabilities.has(job));
    const reaches = CLIENT_PLACES.filter((place) => capabilities.has(place));
    let described: { said: ClientDescription } | { problem: string };
    if (way.problem !== undefined) described = { problem: way.problem };
    else if (jobs.length > 0) described = { said: { jobs, ...(reaches.length === 0 ? {} : { reaches }) } };
    else {
      notify(`asking ${way.label} what it can do`);
      described = await describeClient(start, way.label, startMs, signal);
    }
    const said = 'said' in described ? described.said : undefined;
    for (const name of said === undefined ? [] : capabilitiesOf(said)) capabilities.add(name);
    const description: TargetDescription = {
      kind: way.kind,
      address: way.address,
      capabilities: [...capabilities],
      control: 'none',
      // No shell command can repeat a finding, because every client ends with its check.
      ended: true,
      ...defined({ name: said?.name, version: said?.version }),
      ...identityOf(options, {}, way.ran),
    };
    return {
      description,
      capabilities,
      redactor,
      unreachable: 'problem' in described ? described.problem : whyUseless(capabilities),
      diagnostics: async () => last()?.diagnostics ?? '',
      conclude: () => concludeIdentity(description, way.ran),
      context: (recorder) => ({ ...startsOfOneCheck(start), versionHeader, recorder, capabilities, patienceMs }),
    };
  });
}

async function wayOf(options: ClientTargetOptions): Promise<Way> {
  const { command = '', image, env: given = process.env, notify = () => {}, signal } = options;
  if (image === undefined) {
    // Drops Muster's variables, which may hold keys, and proxies, which would hide requests to 127.0.0.2.
    const kept = Object.entries(given).filter(([name]) => !/^(?:MUSTER_|(?:https?|all)_proxy$)/i.test(name));
    const env = { ...Object.fromEntries(kept), ...withoutProxy(given) };
    return {
      kind: 'command',
      label: labelOf(command),
      address: labelOf(command).slice(1, -1),
      ran: measureExecutable(command, undefined, env),
      start: ({ variables }, listener) => startClientProcess(command, { ...env, ...variables }, listener),
    };
  }
  const named = { kind: 'image', label: image, address: image } as const;
  try {
    const finding = findClientImage(image, notify);
    const found = await (signal === undefined ? finding : unlessAborted(finding, signal));
    const direct = withoutProxy(given);
    return {
      ...named,
      ran: found.ran,
      start: ({ variables, folder }, listener) =>
        found.start({ variables: { ...direct, ...variables }, folder }, listener),
    };
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    const start: StartClient = () => {
      throw error;
    };
    return { ...named, ran: undefined, start, problem: error.message };
  }
}

function counted(startOne: StartClient) {
  const running = new Set<RunningClient>();
  let last: RunningClient | undefined;
  const start: StartClient = (situation, listener) => {
    const run = startOne(situation, {
      ...listener,
      ended: () => {
        running.delete(run);
        listener.ended();
      },
    });
    running.add(run);
    last = run;
    return run;
  };
  return { start, running, last: () => last };
}

function whyUseless(capabilities: ReadonlySet<Capability>): string | undefined {
  if (!CLIENT_JOBS.some((job) => capabilities.has(job)))
    return `the client declares no job that Muster knows: ${CLIENT_JOBS.join(', ')}`;
  const asksDevice = DEVICE_JOBS.some((job) => capabilities.has(job));
  if (asksDevice && !CLIENT_PLACES.some((place) => capabilities.has(place)))
    return `the client declares no way to a Device API that Muster knows: ${CLIENT_PLACES.join(', ')}`;
  return undefined;
}

function withoutProxy(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const local = [env['NO_PROXY'] ?? env['no_proxy'], '127.0.0.1', 'localhost'].filter((host) => host).join(',');
  return { NO_PROXY: local, no_proxy: local };
}

async function describeClient(start: StartClient, label: string, timeoutMs: number, signal: AbortSignal | undefined) {
  const told = Promise.withResolvers<void>();
  let found: unknown;
  const line = (text: string): void => {
    if (text.trimStart().startsWith('{')) found ??= jsonOf(text);
    if (found !== undefined) told.resolve();
  };
  const run = start({ variables: { [CLIENT_VARIABLES.job]: 'describe' } }, { line, ended: told.resolve });
  const over = AbortSignal.any([AbortSignal.timeout(timeoutMs), signal].filter((one) => one !== undefined));
  try {
    await unlessAborted(told.promise, over).catch(() => {});
    signal?.throwIfAborted();
    if (found === undefined) {
      const why = run.how ?? `it runs, and has printed no such line within ${readableDuration(timeoutMs)}`;
      const asked = `${label} was asked with ${CLIENT_VARIABLES.job}=describe for {"jobs":[…]} in one line`;
      return { problem: `${asked}: ${why}` };
    }
    if (clientDescription.is(found)) return { said: found };
    const problems = clientDescription.problems(found).map(({ path, message }) => `${path} ${message}`.trim());
    return { problem: `${label} describes itself wrongly: ${problems.join(', ')}` };
  } finally {
    await run.stop();
  }
}

function capabilitiesOf(said: ClientDescription): Capability[] {
  const reaches = DEVICE_JOBS.some((job) => said.jobs.includes(job)) ? (said.reaches ?? ['url']) : [];
  return [
    ...CLIENT_JOBS.filter((job) => said.jobs.includes(job)),
    ...CLIENT_PLACES.filter((place) => reaches.includes(place)),
    ...(said.deduplicates === true ? (['deduplicates'] as const) : []),
    ...(said.heartbeat === true ? (['heartbeat'] as const) : []),
  ];
}
