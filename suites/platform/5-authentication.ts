/** Section 5: refusals without a valid API key, and of pings without the scope `devices:read`. */
import { byExploring } from './oracle/checks.ts';
import type { Comparison } from './oracle/differences.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '5', since: '2026-11-21' });

const isRead = ({ exchange }: Comparison): boolean => exchange.operation.method === 'GET';

const keyRequired = requirement({
  id: 'platform.auth.key-required',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing without an API key.',
});
check(...byExploring(keyRequired, { profile: 'core', isMeant: isRead, part: 'refusals' }));
check(...byExploring(keyRequired, { aspect: 'writes', part: 'refuseWrites' }));

const keyWrong = requirement({
  id: 'platform.auth.key-wrong',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing with a key that was not issued.',
});
check(...byExploring(keyWrong, { profile: 'core', isMeant: isRead, part: 'refusals' }));
check(...byExploring(keyWrong, { aspect: 'operations', premises: [keyRequired.id], part: 'refuseWrites' }));

const scope = requirement({
  id: 'platform.auth.scope',
  clause: 'Endpoints require scopes; ping requires `devices:read`.',
  text: 'A key without the scope devices:read cannot ping a device.',
});
const isPing = ({ exchange }: Comparison): boolean => exchange.operation.id === 'pingDevice';
check(...byExploring(scope, { needs: ['limited-key'], writes: true, isMeant: isPing, part: 'refusals' }));
check(...byExploring(scope, { aspect: 'explored', needs: ['limited-key'] }));
