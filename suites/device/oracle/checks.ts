/** Checks whose requirements the exploration of a device decides. */
import { defined } from '../../../harness/common/defined.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { type Device, LIVE } from '../support/check.ts';
import { OPEN_STREAMS, servesFew } from '../support/requests.ts';
import { explored } from './explore.ts';

interface Options extends Pick<Check<never>, 'needs' | 'premises' | 'profile'> {
  /** Name of the exploration's counter that must be positive for the check to pass. */
  least?: string;
  aspect?: string;
  /** True if the requirement has no other check; the id of the requirement then names this check. */
  isAlone?: boolean;
}

const KILLS = 'kills survived';

/** Returns arguments of `check` for a check that fails if the exploration found the requirement violated. */
export const byOracle = (
  { id }: Requirement,
  {
    aspect = 'oracle',
    needs = [],
    isAlone = false,
    premises = isAlone ? LIVE : [id],
    least = 'publications',
    profile,
  }: Options = {},
): [Pick<Check<never>, 'needs' | 'premises' | 'profile'> & { aspect?: string }, (t: Device) => Promise<void>] => [
  {
    ...(!isAlone && { aspect }),
    ...defined({ profile }),
    needs: ['drive', ...needs],
    premises,
    ...{ sharing: 'disruptive', turn: 'last' },
    ...{ least: { requests: 0, restarts: 0, compactions: 0, [least]: 1 } },
  },
  async (t: Device) => {
    const { found, trouble, counts, notes } = await explored(t);
    t.saw(least, counts.get(least) ?? 0);
    if (least === KILLS) for (const note of notes) t.note(note);
    const mine = found.get(id);
    if (mine === undefined && trouble !== undefined) throw trouble;
    const { most } = t.session.get(OPEN_STREAMS);
    if (mine === undefined && !counts.has(least) && most === 1) t.notApplicable(servesFew(most));
    if (mine === undefined) return;
    const { departure, commands, snapshot } = mine;
    t.http.recorder.restore(snapshot);
    const finding = { ...departure.finding, counterexample: commands.map(({ text }) => text).join('; ') };
    if (departure.isShould) t.should(false, finding);
    else t.must(false, finding);
  },
];
