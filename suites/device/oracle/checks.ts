/** Checks that leave their requirement to the exploration. */
import { defined } from '../../../harness/common/defined.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { type Device, LIVE } from '../support/check.ts';
import { OPEN_STREAMS, servesFew } from '../support/requests.ts';
import { explored } from './explore.ts';

interface Options extends Pick<Check<never>, 'needs' | 'premises' | 'profile'> {
  /** Count of the exploration that the check needs to pass. */
  least?: string;
  /** Default: `oracle`. */
  aspect?: string;
  /** True for the only check of the requirement, which has its id. */
  isAlone?: boolean;
}

const KILLS = 'kills survived';

/**
 * Options and body of a check that passes unless the exploration has found a departure which decides its requirement:
 * `check(complete, ...byOracle(complete))`.
 */
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
