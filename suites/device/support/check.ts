/** How a device check is declared. */
import { checks } from '../../../harness/runner/define.ts';
import type { Capability } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { type Device, relocate } from './device.ts';

export type { Device };

const declare = checks<DeviceContext>();

/**
 * Declares a check. Before it runs, its client is pointed to where the agent is now, since another check may have restarted it.
 * Without the path that `log` or `files` depends on, the check is not applicable.
 */
export const check: typeof declare = (requirement, options, run) =>
  declare(requirement, options, async (given) => {
    const t = { ...given, capabilities: usable(given) };
    const useless = options.needs?.find((name) => given.capabilities.has(name) && !t.capabilities.has(name));
    if (useless !== undefined)
      given.notApplicable(`the capability "${useless}" is declared, but control does not give its ${PATHS[useless]}`);
    await relocate(t);
    await run(t);
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
