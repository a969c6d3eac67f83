import { CLIENT_PLACES, type ClientPlace, JOB_TABLE } from '../../../harness/contract/client.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { ClientContext } from '../../../harness/targets/opened.ts';
import { sections } from '../../section.ts';

export type Client = ClientContext & CheckContext;

/** Date of the requirement set, which new requirements name in `since`. */
export const NEWEST = '2026-11-25';

export const FOLLOW = ['follow'] as const;

/** Reason for not applicable; a client may leave its caller no choice. */
export const NO_CHOICE = 'the client sends the same, whatever its caller wants';

/** Premise that the client dispatches an event which arrives whole. */
export const DISPATCH = [JOB_TABLE.follow.plainest];

export const RECONNECT = [...DISPATCH, 'client.delivery.reconnect'];

export const WITH_CURSOR = { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] } as const;

export const section = sections(checks<ClientContext>());

export const placeOf = (t: Client): ClientPlace => CLIENT_PLACES.find((place) => t.capabilities.has(place)) ?? 'url';
