import { chmodSync, chownSync } from 'node:fs';
import { defect, variant } from '../define-device.ts';

const NOBODY = 65_534;

export const defects = [
  defect(
    'socket-given-away',
    'Gives the socket to the user nobody, and lets every user into its directory.',
    ['device.socket.permissions'],
    {
      transport: ({ permit }) => ({
        permit: (path, mode, folder) => {
          permit(path, mode, folder);
          chownSync(path, NOBODY, NOBODY);
          chmodSync(folder, 0o711);
        },
      }),
    },
  ),
  defect(
    'loopback-on-every-address',
    'Binds its loopback port to every address of the machine.',
    ['device.loopback.only'],
    { transport: { host: '0.0.0.0' } },
  ),
];

export const variants = [
  variant(
    'short-backlog',
    'Lets five connections wait until it takes them, as the standard library of Python does (no number is stated).',
    { transport: { backlog: 5 } },
  ),
];
