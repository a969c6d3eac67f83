import type { ControlCompacted, ControlPublished } from '../../../harness/contract/control.ts';
import { retentionSeen } from '../../../harness/runner/declarations.ts';
import { checks } from '../../../harness/runner/define.ts';
import { boundedProperty } from '../../../harness/runner/property.ts';
import { Fact } from '../../../harness/runner/session.ts';
import type { Capability, Check, Requirement } from '../../../harness/runner/types.ts';
import { type Control, ControlRefused } from '../../../harness/targets/control/control.ts';
import { CAPABILITY_FOR, layered } from '../../../harness/targets/control/layers.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { sections } from '../../section.ts';
import { type Device, pacedControl } from './check.ts';
import { mostEvents, TooFewRetained } from './retention.ts';
import { type Streams, withStreams } from './streams.ts';

const PUBLISHED = new Fact<{ first: bigint; count: number }[]>(() => []);

function watchedControl(control: Control, { session, info }: Pick<Device, 'session' | 'info'>): Control {
  const { declarations } = session;
  return layered(control, {
    call: async (call, signal) => {
      const capability = CAPABILITY_FOR[call.name];
      const answer = await control.call(call, signal).catch((error: unknown) => {
        const mayRefuse = call.name === 'remove' || (call.name === 'deploy' && Object.keys(call.request).length > 0);
        if (error instanceof ControlRefused && !mayRefuse) declarations.refused(capability, error.message);
        throw error;
      });
      declarations.worked(capability);
      if (call.name === 'publish')
        session.get(PUBLISHED).push({ first: BigInt((answer as ControlPublished).first_id), count: call.count });
      if (call.name !== 'compact') return answer;
      const earliest = BigInt((answer as ControlCompacted).earliest_id);
      const left = session.get(PUBLISHED).filter(({ first }) => first >= earliest);
      session.set(PUBLISHED, left);
      const kept = left.reduce((sum, { count }) => sum + count, 0);
      if (info.retention !== undefined) declarations.saw(retentionSeen(info.retention, kept));
      return answer;
    },
  });
}

export const PUBLISHING = { needs: ['drive'], sharing: 'publishing' } as const;

/** Options of checks that need no control, because they read events that earlier checks have left. */
export const RETAINED_ONLY = { aspect: 'retained', turn: 'last', profile: 'core' } as const;

/** Events that others may publish while a check reads; if the log may not keep as many, they publish one at a time. */
const EVENTS_OF_OTHERS = 60;
const LEAST_INPUTS = 5;
const PATHS: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const declare = checks<DeviceContext>();

export const check = (
  requirement: Requirement,
  options: Parameters<typeof declare>[1],
  run: (t: Device, streams: Streams) => Promise<void>,
): Check<DeviceContext> => {
  const { needs = [] } = options;
  const usual = needs.includes('drive') ? 'exclusive' : 'shared';
  const { sharing = needs.includes('compact') || needs.includes('restart') ? 'disruptive' : usual } = options;
  const least: Record<string, number> = {
    requests: 1,
    ...(needs.includes('restart') && { restarts: 1 }),
    ...(needs.includes('compact') && { compactions: 1 }),
    ...options.least,
  };
  return declare(requirement, { ...options, sharing, least }, async (given) => {
    const lacksPath = (name: Capability): boolean => {
      const path = PATHS[name];
      return path !== undefined && given.info[path] === undefined;
    };
    const t = {
      ...given,
      capabilities: new Set([...given.capabilities].filter((name) => !lacksPath(name))),
      control: watchedControl(pacedControl(given), given),
      property: boundedProperty(given, {
        shrinkMs: 4000,
        tryMs: () => (given.session.isSlow() ? 3000 : 15_000),
        least: LEAST_INPUTS,
        describeLeftOut: (tried) => `the target is slow: ${tried} inputs were tried, and no more`,
      }),
    };
    const useless = needs.find((name) => given.capabilities.has(name) && lacksPath(name));
    if (useless !== undefined) {
      const lacks = `control does not give its ${PATHS[useless]}`;
      t.session.declarations.refused(useless, lacks);
      given.undecided(`the capability "${useless}" is declared, but ${lacks}`);
    }
    if (mostEvents(t) < EVENTS_OF_OTHERS) t.session.isSmall = true;
    if (sharing === 'exclusive' || sharing === 'publishing') await t.session.quiet();
    const use = (streams: Streams): Promise<void> => run(t, streams);
    try {
      await withStreams(t, use);
    } catch (error) {
      if (!(error instanceof TooFewRetained)) throw error;
      await withStreams(t, use);
    }
  });
};

export const section = sections(check);
