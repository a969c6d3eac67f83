/** What a device check is given, and the shape in which it is declared. */
import { checks } from '../../../harness/runner/define.ts';
import type { Capability, CheckContext } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/contexts.ts';
import { relocate } from './restart.ts';

export type Device = DeviceContext & CheckContext;

const declare = checks<DeviceContext>();

/** `checks<DeviceContext>()` for an agent that another check may have restarted, at another port and with another token. */
export const check: typeof declare = (holds, options, run) =>
  declare(holds, options, async (given) => {
    const context = { ...given, capabilities: usable(given) };
    const useless = options.needs?.find((name) => given.capabilities.has(name) && !context.capabilities.has(name));
    if (useless !== undefined)
      given.notApplicable(
        `the capability "${useless}" is declared, but control does not say where (${PLACES[useless]})`,
      );
    await relocate(context);
    await run(context);
  });

/** What control has to name for these capabilities to be of use. Both members are optional. */
const PLACES: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const usable = ({ capabilities, info }: DeviceContext): ReadonlySet<Capability> =>
  new Set(
    [...capabilities].filter((name) => {
      const place = PLACES[name];
      return place === undefined || info[place] !== undefined;
    }),
  );
