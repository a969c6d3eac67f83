/** How a device check is declared. */
import { checks } from '../../../harness/runner/define.ts';
import { boundedProperty } from '../../../harness/runner/property.ts';
import type { Capability, Check, Requirement, Sharing } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { sections } from '../../section.ts';
import { type Device, pacedControl, relocate } from './check.ts';
import { watchedControl } from './declared.ts';
import { mostEvents, TooFewRetained } from './retention.ts';
import { type Streams, withStreams } from './streams.ts';

/** As many events as checks that publish together may cause while one of them reads what it has published. */
const MUCH = 60;

const declare = checks<DeviceContext>();

/**
 * Declares a check. Before it runs, its client is pointed to where the agent is now, since another check may have
 * restarted it; the streams that it opens are closed when it ends. Without the path that `log` or `files` depends on,
 * the check is undecided.
 */
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
    if (mostEvents(t) < MUCH) t.session.isSmall = true;
    if (sharing === 'exclusive' || sharing === 'publishing') await t.session.quiet();
    await relocate(t);
    const once = (): Promise<void> => withStreams(t, (streams) => run(t, streams));
    // How many events a log keeps may show only now, and it may keep a few more when a check begins at another moment.
    await once().catch((error: unknown) => {
      if (!(error instanceof TooFewRetained)) throw error;
      return once();
    });
  });
};

export const section = sections(check);

/**
 * A check that asked nothing, restarted or compacted nothing, has decided nothing. One may read what another has
 * published.
 */
const usualLeast = (needs: readonly Capability[] = []): Record<string, number> => ({
  requests: 1,
  ...(needs.includes('restart') && { restarts: 1 }),
  ...(needs.includes('compact') && { compactions: 1 }),
});

/** How checks share the agent that do with it what these capabilities allow. */
function usualSharing(needs: readonly Capability[] = []): Sharing {
  if (needs.includes('compact') || needs.includes('restart')) return 'disruptive';
  return needs.includes('drive') ? 'exclusive' : 'shared';
}

/** Milliseconds in which a smaller counterexample is looked for. */
const SHRINK_MS = 4000;
/** Milliseconds in which new inputs are tried. */
const TRY_MS = 15_000;
const TRY_SLOW_MS = 3000;

/** A few inputs show something too, and a slow target would take minutes for all of them. */
const boundedBy = (t: Device): Device['property'] =>
  boundedProperty(t, {
    shrinkMs: SHRINK_MS,
    tryMs: () => (t.session.isSlow() ? TRY_SLOW_MS : TRY_MS),
    describeLeftOut: (tried) => `the target is slow: ${tried} inputs were tried, and no more`,
  });

/** The optional member of control's information without which a capability is of no use. */
const PATHS: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const usable = ({ capabilities, info }: DeviceContext): ReadonlySet<Capability> =>
  new Set(
    [...capabilities].filter((name) => {
      const path = PATHS[name];
      return path === undefined || info[path] !== undefined;
    }),
  );
