import type { DeviceDefect } from './types.ts';

export const fileKeptWhenThere: DeviceDefect = {
  name: 'file-kept-when-there',
  side: 'device',
  summary: 'Keeps what a config file held when it is deployed again.',
  breaks: ['device.events.written-first'],
  behaviour: (right) => {
    const kept = new Map<string, Uint8Array>();
    return {
      ...right,
      deployments: {
        ...right.deployments,
        files: (files) =>
          files.map(({ filepath, content }) => {
            const held = kept.get(filepath) ?? content;
            kept.set(filepath, held);
            return { filepath, content: held };
          }),
      },
    };
  },
};
