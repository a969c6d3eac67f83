/** Section 4.1: the cursor in Last-Event-ID, and the precedence of `after`. */
import { byOracle } from './oracle/checks.ts';
import { section } from './support/section.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '4.1', since: '2026-11-21' });

export const header = requirement({
  id: 'device.events.header-cursor',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text: 'The header Last-Event-ID carries a cursor with the same semantics as after.',
});
export const afterWins = requirement({
  id: 'device.events.after-wins',
  clause: 'Takes precedence over the header.',
  text: 'With both cursors after decides, whichever is larger.',
});
check(header, ...byOracle(header, { isAlone: true, profile: 'core', least: 'streams by header' }));

check(afterWins, ...byOracle(afterWins, { isAlone: true, profile: 'core', least: 'streams by both' }));

check(afterWins, ...byOracle(afterWins, { aspect: 'zero', least: 'cursors of zero' }));
