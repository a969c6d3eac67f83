import type { AgentLink } from './ports.ts';

/** A platform without an agent side: no device can be reached. */
export const nullLink: AgentLink = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
