/** Section 6.2, rule 5: stored events survive a restart, a kill and a torn log. */
import { byOracle } from './oracle/checks.ts';
import { CURRENT_SHOWN } from './support/check.ts';
import { section } from './support/section.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-21' });

const survives = requirement({
  id: 'device.log.restart',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'After a restart ids go on, none is reused, and retained events replay as before.',
});
check(
  survives,
  ...byOracle(survives, { isAlone: true, profile: 'core', needs: ['restart'], least: 'restarts survived' }),
);

const crash = requirement({
  id: 'device.log.crash',
  level: 'MUST',
  clause: 'Delivery is at-least-once … Events are stored on the device',
  text: 'Killed at any moment, the agent loses and renumbers no event that a client has seen.',
});
check(crash, ...byOracle(crash, { isAlone: true, needs: ['restart'], least: 'kills survived' }));

const tornTail = requirement({
  id: 'device.log.torn-tail',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'A torn last line in the log damages no event written after it, over two restarts.',
});
check(tornTail, ...byOracle(tornTail, { isAlone: true, needs: ['restart', 'log'], least: 'torn lines survived' }));

const keeps = requirement({
  id: 'device.deployment.restart',
  level: 'SHOULD',
  section: '2.2',
  clause: 'Config instances are currently available for consumption on the device.',
  text:
    'The deployment that is on the device is still the current one after the agent has been restarted, ' +
    'and the device is the same.',
});
check(
  keeps,
  ...byOracle(keeps, { isAlone: true, needs: ['restart'], premises: CURRENT_SHOWN, least: 'restarts survived' }),
);

check(survives, ...byOracle(survives, { aspect: 'whole', needs: ['restart'], least: 'restarts survived' }));

check(
  survives,
  ...byOracle(survives, { aspect: 'compacted', needs: ['compact', 'restart'], least: 'restarts survived' }),
);
