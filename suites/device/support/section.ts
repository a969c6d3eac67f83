/** Declares device checks. */
import { checks } from '../../../harness/runner/define.ts';
import { boundedProperty } from '../../../harness/runner/property.ts';
import type { Capability, Check, Requirement, Sharing } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { sections } from '../../section.ts';
import { type Device, pacedControl, relocate } from './check.ts';
import { watchedControl } from './declared.ts';
import { mostEvents, TooFewRetained } from './retention.ts';
import { type Streams, withStreams } from './streams.ts';

/** Maximum number of events that concurrent checks may publish while a check reads. */
const EVENTS_OF_OTHERS = 60;

const declare = checks<DeviceContext>();

/** Declares a check that first looks up the agent's current address and closes its streams at the end. */
export const check = (
  requirement: Requirement,
  options: Parameters<typeof declare>[1],
  run: (t: Device, streams: Streams) => Promise<void>,
): Check<DeviceContext> => {
  const { needs, sharing = usualSharing(needs) } = options;
  const least = { ...usualLeast(needs), ...options.least };
  return declare(requirement, { ...options, sharing, least }, async (given) => {
    const t = {
      ...given,
      capabilities: usable(given),
      control: watchedControl(pacedControl(given), given),
      property: boundedBy(given),
    };
    const useless = needs?.find((name) => given.capabilities.has(name) && !t.capabilities.has(name));
    if (useless !== undefined) {
      const lacks = `control does not give its ${PATHS[useless]}`;
      t.session.declarations.refused(useless, lacks);
      given.undecided(`the capability "${useless}" is declared, but ${lacks}`);
    }
    if (mostEvents(t) < EVENTS_OF_OTHERS) t.session.isSmall = true;
    if (sharing === 'exclusive' || sharing === 'publishing') await t.session.quiet();
    await relocate(t);
    const once = (): Promise<void> => withStreams(t, (streams) => run(t, streams));
    // Runs the check again with fewer events if the log kept too few events for the first run.
    await once().catch((error: unknown) => {
      if (!(error instanceof TooFewRetained)) throw error;
      return once();
    });
  });
};

export const section = sections(check);

/** Minimum numbers of requests, restarts and compactions without which a check has no verdict. */
const usualLeast = (needs: readonly Capability[] = []): Record<string, number> => ({
  requests: 1,
  ...(needs.includes('restart') && { restarts: 1 }),
  ...(needs.includes('compact') && { compactions: 1 }),
});

function usualSharing(needs: readonly Capability[] = []): Sharing {
  if (needs.includes('compact') || needs.includes('restart')) return 'disruptive';
  return needs.includes('drive') ? 'exclusive' : 'shared';
}

/** Minimum number of inputs of a property, even on a slow target. */
const LEAST_INPUTS = 5;

/** Limits the time of a property, because a slow target takes minutes for all inputs. */
const boundedBy = (t: Device): Device['property'] =>
  boundedProperty(t, {
    shrinkMs: 4000,
    tryMs: () => (t.session.isSlow() ? 3000 : 15_000),
    least: LEAST_INPUTS,
    describeLeftOut: (tried) => `the target is slow: ${tried} inputs were tried, and no more`,
  });

const PATHS: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const usable = ({ capabilities, info }: DeviceContext): ReadonlySet<Capability> =>
  new Set(
    [...capabilities].filter((name) => {
      const path = PATHS[name];
      return path === undefined || info[path] !== undefined;
    }),
  );
