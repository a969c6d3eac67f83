import type { DeviceDefect } from './types.ts';

export const oneSubscriber: DeviceDefect = {
  name: 'one-subscriber',
  side: 'device',
  summary: 'Serves live events to the newest subscriber only.',
  breaks: ['device.events.concurrent'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, recipients: (live) => [...live].slice(-1) } }),
};
