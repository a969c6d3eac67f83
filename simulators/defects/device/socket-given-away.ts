import { chmodSync, chownSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DeviceDefect } from './types.ts';

const NOBODY = 65_534;

export const socketGivenAway: DeviceDefect = {
  name: 'socket-given-away',
  side: 'device',
  summary: 'Gives the socket to the user nobody, and lets every user into its directory.',
  breaks: ['device.socket.permissions'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      permit: (path, mode) => {
        right.transport.permit(path, mode);
        chownSync(path, NOBODY, NOBODY);
        chmodSync(dirname(path), 0o711);
      },
    },
  }),
};
