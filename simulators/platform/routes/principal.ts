import type { Handlers } from '../http/call.ts';

export const principalHandlers: Handlers = {
  getSelf: ({ key }) => ({ json: JSON.stringify({ object: 'principal', id: key.id, name: key.name }) }),
};
